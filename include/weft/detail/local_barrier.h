// A barrier of threads that share memory in hardware: the threads of a team, and the nodes of one host under `direct`.
//
// Central, with a generation: the last to arrive does what there is to do and starts the next generation. Waiting spins for a while
// and then sleeps on the generation. Plain data without pointers, so it may lie in memory that processes share.
#pragma once

#include <atomic>
#include <cstdint>

#include <weft/detail/patience.h>
#include <weft/status.h>

namespace weft {

class local_barrier {
 public:
  explicit local_barrier(std::uint32_t participants = 1) noexcept : participants_(participants) {}

  // Waits until all have arrived. The last one calls `last` before it lets the others go; each of the others has its wait, a function,
  // called by `around`. Throws when somebody abandoned the barrier.
  template <typename Last, typename Around>
  void arrive_and_wait(Last&& last, Around&& around) {
    // Read before arriving: afterwards the generation may change at any time.
    const std::uint32_t generation = generation_.load(std::memory_order_acquire);
    // Acquire and release: the last to arrive sees what all others wrote before.
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == participants_) {
      last();
      arrived_.store(0, std::memory_order_relaxed);  // published by the next line
      start(generation + 1);
      return;
    }
    around([&] { detail::wait_while(generation_, generation, sleepers_); });
    if (abandoned_.load(std::memory_order_relaxed))  // published with the generation
      throw error(errc::node_failed, "a barrier was given up because another thread of this node failed");
  }

  template <typename Last>
  void arrive_and_wait(Last&& last) {
    arrive_and_wait(last, [](auto&& wait) { wait(); });
  }

  // Somebody will never come: lets go of all who wait, now and from now on.
  void abandon() noexcept {
    abandoned_.store(true, std::memory_order_relaxed);
    start(generation_.load(std::memory_order_relaxed) + 1);
  }

 private:
  void start(std::uint32_t generation) noexcept {
    generation_.store(generation);  // sequentially consistent: before the look at sleepers_
    if (sleepers_.load() != 0) detail::wake_all(generation_);
  }

  std::uint32_t participants_;
  std::atomic<bool> abandoned_{false};
  alignas(64) std::atomic<std::uint32_t> arrived_{0};
  alignas(64) std::atomic<std::uint32_t> generation_{0};
  std::atomic<std::uint32_t> sleepers_{0};
};

}  // namespace weft
