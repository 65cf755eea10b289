// allocation_log: which blocks of shared memory this node has allocated, and from where in the program, for the report's map of pages.
//
// The place is kept as the chain of calls that led to the allocation, so that whoever reads it can leave out weft's own functions, the
// standard library's, and the program's own wrappers. While the log is off, which it is at first, a call costs a branch; while it is on,
// some microseconds.
//
// Bounded: most_blocks blocks and most_sites places; what is allocated beyond is not kept. Blocks that were freed stay until their
// memory is used again. Any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "base/clock.h"

namespace weft::observe {

class allocation_log {
 public:
  static constexpr std::size_t most_blocks = 65536, most_sites = 256, most_calls = 8;
  using chain = std::array<const void*, most_calls>;  // return addresses, innermost first; null at the end

  void turn_on() noexcept { on_.store(true, std::memory_order_relaxed); }  // relaxed: before the program allocates
  void note(const void* at, std::size_t size) {
    if (on_.load(std::memory_order_relaxed)) [[unlikely]]
      keep(at, size);
  }

  // Blocks next to one another that come from one place.
  struct group {
    const std::byte* first;
    std::size_t bytes, blocks;
    std::uint32_t site;
  };
  std::vector<group> groups() const;
  std::vector<chain> sites() const;

  base::nanoseconds cost() const;  // of keeping them, so far

 private:
  void keep(const void* at, std::size_t size);
  void keep(const chain& from, const void* at, std::size_t size);  // under the lock

  struct block {
    std::size_t size;
    std::uint32_t site;
  };
  std::atomic<bool> on_{false};
  mutable std::mutex lock_;  // guards what follows
  std::map<const std::byte*, block> blocks_;
  std::map<chain, std::uint32_t> sites_;
  base::nanoseconds cost_ = 0;
};

}  // namespace weft::observe
