#include "dsm/changes.h"

#include <bit>
#include <cassert>
#include <cstring>

namespace weft::dsm {

namespace {

using base::load;

// The first offset from `from` on where the two differ, or agree, or `size`. Words first, then the byte in the word.
std::size_t first_different(const std::byte* a, const std::byte* b, std::size_t from, std::size_t size) {
  while (from % patch::word_bytes != 0 && from < size) {
    if (a[from] != b[from]) return from;
    ++from;
  }
  for (; from < size; from += patch::word_bytes) {
    const auto x = load<std::uint64_t>(a + from) ^ load<std::uint64_t>(b + from);
    if (x != 0) return from + static_cast<std::size_t>(std::countr_zero(x)) / 8;
  }
  return size;
}

std::size_t first_equal(const std::byte* a, const std::byte* b, std::size_t from, std::size_t size) {
  constexpr std::uint64_t low = 0x0101'0101'0101'0101u, high = 0x8080'8080'8080'8080u;
  while (from % patch::word_bytes != 0 && from < size) {
    if (a[from] == b[from]) return from;
    ++from;
  }
  for (; from < size; from += patch::word_bytes) {
    const std::uint64_t x = load<std::uint64_t>(a + from) ^ load<std::uint64_t>(b + from);
    // A byte that is zero in x; the lowest such mark is exact.
    if (const std::uint64_t equal = (x - low) & ~x & high) return from + static_cast<std::size_t>(std::countr_zero(equal)) / 8;
  }
  return size;
}

}  // namespace

std::byte* changes::storage(std::size_t size) {
  assert(size <= block_bytes);
  if (block_ < blocks_.size() && used_ + size > block_bytes) {
    ++block_;
    used_ = 0;
  }
  if (block_ == blocks_.size()) blocks_.push_back(std::make_unique_for_overwrite<std::byte[]>(block_bytes));
  std::byte* at = blocks_[block_].get() + used_;
  used_ += size;
  return at;
}

void changes::clear() noexcept {
  runs_.clear();
  patches_.clear();
  bytes_ = patched_ranges_ = block_ = used_ = 0;
}

void changes::add_run(std::uint64_t offset, bytes data) {
  assert(form_ == form::runs);
  std::byte* copy = storage(data.size());
  std::memcpy(copy, data.data(), data.size());
  runs_.push_back({offset, {copy, data.size()}});
  bytes_ += data.size();
}

bool changes::add(page_id p, const std::byte* now, std::byte* before) {
  if (form_ == form::runs) return add_runs(p, now, before);
  std::byte* const encoded = storage(patch::most_bytes);
  patch::amount changed;
  const patch made = patch::make(p, now, before, encoded, changed);
  used_ -= patch::most_bytes - made.encoded().size();
  if (changed.bytes == 0) return false;
  patches_.push_back(made);
  bytes_ += changed.bytes;
  patched_ranges_ += changed.ranges;
  return true;
}

// What is compared, and sent, and what the page is compared with the next time, is a copy of the line, so nothing falls between.
bool changes::add_runs(page_id p, const std::byte* now, std::byte* before) {
  constexpr std::size_t size = patch::line_bytes;
  const std::size_t had = runs_.size();
  for (std::size_t line = 0; line < page_bytes; line += size) {
    std::byte* const old = before + line;
    if (std::memcmp(now + line, old, size) == 0) continue;
    std::byte* const copy = storage(size);
    std::memcpy(copy, now + line, size);
    for (std::size_t at = first_different(copy, old, 0, size); at < size; at = first_different(copy, old, at, size)) {
      //~ word_sized_diffs
      const std::size_t end = first_equal(copy, old, at, size);
      append(p * page_bytes + line + at, {copy + at, end - at}, had);
      //~ twin_not_brought_up_to_date
      std::memcpy(old + at, copy + at, end - at);
      at = end;
    }
  }
  return runs_.size() != had;
}

// A run, or more of the last one, if that is not among the first `others`.
void changes::append(std::uint64_t offset, bytes data, std::size_t others) {
  bytes_ += data.size();
  if (runs_.size() > others) {
    run& last = runs_.back();
    if (last.offset + last.data.size() == offset && last.data.data() + last.data.size() == data.data()) {
      last.data = {last.data.data(), last.data.size() + data.size()};
      return;
    }
  }
  runs_.push_back({offset, data});
}

}  // namespace weft::dsm
