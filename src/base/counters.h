// Statistics that cost a nanosecond: one set of counters a thread, summed when somebody looks. Exact, because a thread writes only
// its own set (the shared slot is written with atomic adds).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/thread_slot.h"

namespace weft::base {

// Of a number that one thread writes and others may read: no locked operation, so of two threads at the same moment one would be missed.
// Relaxed: a count orders nothing.
template <typename T>
void raise(std::atomic<T>& of, T amount = 1) noexcept {
  of.store(of.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
}

template <std::size_t N>
class counters {
 public:
  void add(std::size_t which, std::uint64_t amount = 1) noexcept {
    const std::size_t slot = thread_slot();
    auto& value = sets_[slot].values[which];
    // Relaxed: a count orders nothing; sum() only promises what happened before it in the reader's own order.
    if (slot != shared_thread_slot) [[likely]]
      raise(value, amount);
    else
      value.fetch_add(amount, std::memory_order_relaxed);
  }

  std::uint64_t sum(std::size_t which) const noexcept {
    std::uint64_t total = 0;
    for (const auto& one : sets_) total += one.values[which].load(std::memory_order_relaxed);
    return total;
  }

 private:
  struct alignas(64) set {
    std::array<std::atomic<std::uint64_t>, N> values{};
  };
  std::array<set, thread_slots> sets_{};
};

}  // namespace weft::base
