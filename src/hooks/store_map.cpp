#include "hooks/store_map.h"

#include <algorithm>
#include <array>
#include <bit>
#include <mutex>

namespace weft::hooks {

std::atomic<bool> hooks_are_linked{false};
std::atomic<std::uintptr_t> doubled_low{UINTPTR_MAX}, doubled_high{0};

namespace {

std::array<std::atomic<store_map*>, store_map::most> table;

// A thread's last report, where passes of other threads find it.
struct last_store {
  last_store();
  ~last_store();
  std::atomic<const std::byte*> at{nullptr};
  std::atomic<std::size_t> size{0};
};

struct {
  std::mutex lock;  // guards `all`
  std::vector<last_store*> all;
} reporters;

last_store::last_store() {
  std::scoped_lock lock(reporters.lock);
  reporters.all.push_back(this);
}

last_store::~last_store() {
  std::scoped_lock lock(reporters.lock);
  std::erase(reporters.all, this);
}

last_store& mine() {
  thread_local last_store last;
  return last;
}

store_map* find(const std::byte* at) noexcept {
  for (auto& slot : table)
    if (store_map* m = slot.load(std::memory_order_acquire); m && m->covers(at)) return m;  // pairs with the release in enter_table
  return nullptr;
}

// Only grows: a hook that looks once more than necessary does no harm.
void widen(std::uintptr_t low, std::uintptr_t high) {
  if (low < doubled_low.load()) doubled_low.store(low);
  if (high > doubled_high.load()) doubled_high.store(high);
}

}  // namespace

void report_store(const void* where, std::size_t size) noexcept {
  const auto* at = static_cast<const std::byte*>(where);
  store_map* m = find(at);
  if (!m) return;
  last_store& last = mine();
  last.size.store(size, std::memory_order_relaxed);  // relaxed: ordered by the sequentially consistent marks that follow
  last.at.store(at);
  m->mark(at, size);
}

store_map::store_map(mutable_bytes bound)
    : bound_(bound),
      pages_((bound.size() + page - 1) / page),
      byte_bits_(os::reserve(pages_ * words_a_page * sizeof(std::uint64_t)).or_throw()),
      page_bits_(os::reserve((pages_ + 63) / 64 * sizeof(std::uint64_t)).or_throw()),
      bytes_(words_of(byte_bits_)),
      touched_(words_of(page_bits_)) {}

bool store_map::enter_table() {
  for (auto& slot : table) {
    store_map* free = nullptr;
    if (!slot.compare_exchange_strong(free, this, std::memory_order_release)) continue;  // pairs with the acquire in find
    widen(reinterpret_cast<std::uintptr_t>(bound_.data()), reinterpret_cast<std::uintptr_t>(bound_.data() + bound_.size()));
    return true;
  }
  return false;
}

void store_map::leave_table() {
  for (auto& slot : table) {
    store_map* self = this;
    slot.compare_exchange_strong(self, nullptr);
  }
}

// The bytes first, then the page: a pass clears the page first, then looks at the bytes.
void store_map::mark(const std::byte* at, std::size_t size) noexcept {
  std::size_t first = static_cast<std::size_t>(at - bound_.data());
  const std::size_t end = std::min(first + size, bound_.size());
  while (first < end) {
    const std::size_t in_word = first % bytes_a_word, n = std::min(end - first, bytes_a_word - in_word);
    const std::uint64_t bits = (n == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << n) - 1) << in_word;
    bytes_[first / bytes_a_word].fetch_or(bits);
    touched_[first / page / 64].fetch_or(std::uint64_t{1} << first / page % 64);
    first += n;
  }
}

void store_map::take_page(std::size_t which, std::vector<run>& runs) {
  for (std::size_t w = which * words_a_page; w < (which + 1) * words_a_page; ++w) {
    std::uint64_t bits = bytes_[w].load(std::memory_order_relaxed) == 0 ? 0 : bytes_[w].exchange(0);
    while (bits != 0) {
      const int from = std::countr_zero(bits), length = std::countr_one(bits >> from);
      const std::uint64_t offset = w * bytes_a_word + static_cast<std::size_t>(from);
      const auto n = static_cast<std::size_t>(length);
      if (!runs.empty() && runs.back().offset + runs.back().data.size() == offset)
        runs.back().data = {runs.back().data.data(), runs.back().data.size() + n};
      else
        runs.push_back({offset, {bound_.data() + offset, n}});
      bits = length == 64 ? 0 : bits & ~(((std::uint64_t{1} << length) - 1) << from);
    }
  }
}

void store_map::take(std::vector<run>& runs, bool own_thread) {
  for (std::size_t t = 0; t < (pages_ + 63) / 64; ++t)
    for (std::uint64_t bits = touched_[t].exchange(0); bits != 0; bits &= bits - 1)
      take_page(t * 64 + static_cast<std::size_t>(std::countr_zero(bits)), runs);
  mark_pending(bound_.data(), bound_.data() + bound_.size(), own_thread);
}

void store_map::take(std::size_t page_number, std::vector<run>& runs, bool own_thread) {
  touched_[page_number / 64].fetch_and(~(std::uint64_t{1} << page_number % 64));
  take_page(page_number, runs);
  const std::byte* first = bound_.data() + page_number * page;
  mark_pending(first, first + page, own_thread);
}

// Stores into [first, last) that have been reported and may not have been made.
void store_map::mark_pending(const std::byte* first, const std::byte* last, bool own_thread) {
  const last_store* self = own_thread ? &mine() : nullptr;
  std::scoped_lock lock(reporters.lock);
  for (const last_store* each : reporters.all) {
    const auto* at = each->at.load();
    const std::size_t size = each->size.load(std::memory_order_relaxed);
    if (each != self && at && covers(at) && at < last && at + size > first) mark(at, size);
  }
}

}  // namespace weft::hooks
