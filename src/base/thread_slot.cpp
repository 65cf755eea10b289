#include "base/thread_slot.h"

#include <atomic>
#include <bit>
#include <cstdint>

namespace weft::base::detail {

namespace {
// One bit a slot that is taken, and how many threads there have been. The names of the process's threads are process-wide by nature, so
// these are the globals here.
std::atomic<std::uint64_t> taken{0}, threads{0};
}  // namespace

slot_lease::slot_lease() noexcept : mine{shared_thread_slot, ++threads} {
  std::uint64_t seen = taken.load(std::memory_order_relaxed);
  while (true) {
    const auto free = static_cast<std::size_t>(std::countr_one(seen));
    if (free >= shared_thread_slot) return;
    // Acquire pairs with the release in ~slot_lease: what the slot's last thread wrote there is visible.
    if (taken.compare_exchange_weak(seen, seen | (std::uint64_t{1} << free), std::memory_order_acquire)) {
      mine.slot = free;
      return;
    }
  }
}

slot_lease::~slot_lease() {
  if (mine.slot != shared_thread_slot) taken.fetch_and(~(std::uint64_t{1} << mine.slot), std::memory_order_release);
}

}  // namespace weft::base::detail
