// What a measuring node has of shared memory: pages whose home is the follower, locks, and the bare things that operations on them are
// compared with.
//
// A page is cold for the leader when the follower has written to it and both have met at a barrier since.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include <weft/memory.h>
#include <weft/sync.h>

#include "bench/sides/arena.h"
#include "bench/floor/bare_fault.h"

namespace weft::bench {

inline constexpr std::size_t memory_pages = 4096;
static_assert(memory_pages * page_size <= arena_field);

class memory_side {
 public:
  memory_side();

  // Pages to visit: `count` of them, in an order that nobody can guess, or one after the other.
  std::span<const std::uint32_t> scattered(std::size_t count) const { return {scattered_.data(), count}; }
  std::span<const std::uint32_t> in_order(std::size_t count) const { return {in_order_.data(), count}; }

  word& word_of(std::uint32_t page) { return pages_[page * (page_size / sizeof(word))]; }

  // The follower writes to these pages; the leader finds them cold afterwards. Together.
  void cool(std::span<const std::uint32_t> pages, bool leads);

  // Both: afterwards no node has copies of the other's pages, and none is watched for writes.
  void let_go(bool leads);

  // The leader reads these pages, or writes a word of each.
  void read(std::span<const std::uint32_t> pages);
  void write(std::span<const std::uint32_t> pages);

  weft::mutex& lock() { return lock_; }
  bare_faults& faults() { return *faults_; }     // the leader's
  std::byte* copies() { return copies_.get(); }  // memory_pages of this node's own memory

 private:
  std::vector<std::uint32_t> in_order_, scattered_;
  std::span<word> pages_;  // home: node 1
  weft::mutex lock_;       // in no shared page: what it costs is the lock's alone
  word written_ = 0;       // the last value that cool() wrote; the same on both
  std::unique_ptr<bare_faults> faults_;
  std::unique_ptr<std::byte[], void (*)(void*)> copies_;
};

// Calls `one` with numbers of pages that are `count` together, each at most memory_pages.
template <typename Round>
void in_rounds(std::uint64_t count, Round&& one) {
  for (std::uint64_t left = count; left > 0;) {
    const auto pages = std::min<std::uint64_t>(left, memory_pages);
    one(static_cast<std::size_t>(pages));
    left -= pages;
  }
}

}  // namespace weft::bench
