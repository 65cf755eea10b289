#include "vmmc/changed_words.h"

#include <algorithm>
#include <cstring>

namespace weft::communication {

namespace {

constexpr std::size_t block = 64;

void add(std::vector<run>& runs, std::uint64_t offset, const std::byte* at) {
  if (!runs.empty()) {
    run& last = runs.back();
    if (last.data.data() + last.data.size() == at && last.offset + last.data.size() == offset) {
      last.data = {last.data.data(), last.data.size() + sizeof(word)};
      return;
    }
  }
  runs.push_back({offset, {at, sizeof(word)}});
}

// A cache line at a time, without branches inside, so that the compiler uses vectors.
bool same(const std::byte* a, const std::byte* b) {
  word x[block / sizeof(word)], y[block / sizeof(word)], difference = 0;
  std::memcpy(x, a, block);
  std::memcpy(y, b, block);
  for (std::size_t i = 0; i < std::size(x); ++i) difference |= x[i] ^ y[i];
  return difference == 0;
}

}  // namespace

bool take_changed_words(const std::byte* live, std::byte* twin, std::size_t size, std::uint64_t offset, std::vector<run>& runs) {
  bool any = false;
  for (std::size_t at = 0; at < size; at += block) {
    if (at + block <= size && same(live + at, twin + at)) [[likely]]
      continue;
    for (std::size_t w = at; w < std::min(at + block, size); w += sizeof(word)) {
      // Relaxed: a word is taken whole; what it is ordered with is the flush's business.
      const word now = __atomic_load_n(reinterpret_cast<const word*>(live + w), __ATOMIC_RELAXED);
      auto* before = reinterpret_cast<word*>(twin + w);
      if (now == *before) continue;
      *before = now;
      add(runs, offset + w, twin + w);
      any = true;
    }
  }
  return any;
}

}  // namespace weft::communication
