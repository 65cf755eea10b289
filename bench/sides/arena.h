// Memory that the measuring nodes share outside any fabric: how they agree on what to measure next, and where the bare
// measurements take place.
//
// The leader (node 0) makes it; the others open it by process and descriptor. All map it for the whole run.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include <weft/job.h>

#include "os/memory_file.h"

namespace weft::bench {

inline constexpr std::size_t largest_block = std::size_t{4} << 20;
inline constexpr std::size_t arena_field = std::size_t{16} << 20;
inline constexpr std::size_t most_measuring = 8;

// One to a pair of lines: processors fetch lines in pairs.
template <typename T>
struct alignas(128) apart {
  std::atomic<T> value{};
};

struct arena {
  std::array<apart<std::uint64_t>, most_measuring> arrived;  // at the rendezvous; each written by its node
  apart<std::uint64_t> serial;                               // of the order below; written last
  std::uint64_t operation = 0, size = 0, count = 0;
  std::array<apart<std::uint64_t>, 2> ball;                // what the bare hand-over hands over
  apart<std::uint64_t> holding, released;                  // bursts: see message_station
  apart<std::uint64_t> receiving_ns;                       // what the follower measured
  alignas(4096) std::array<std::byte, arena_field> field;  // where the bare memcpy copies to, and pages from
};

// This process's mapping of it.
class shared_arena {
 public:
  explicit shared_arena(job& all);
  arena* operator->() const { return at_; }

  // All nodes come here before any goes on. Spins: they leave within a cache miss of each other.
  void meet();

 private:
  os::unique_fd file_;
  os::mapping where_;
  arena* at_ = nullptr;
  std::size_t self_, nodes_;
  std::uint64_t meetings_ = 0;
};

// Spins for a moment, then sleeps in between; throws weft::error after a minute, because the other side is not coming.
void wait_patiently(condition until);

}  // namespace weft::bench
