// A small number for the calling thread, reused after it ends, so that per-thread data can live in plain arrays.
//
// The first slots - 1 threads alive at a time have a slot to themselves; all others share the last one. Data indexed by an
// exclusive slot needs no atomic read-modify-write; data in the shared slot does.
#pragma once

#include <cstddef>

namespace weft::base {

inline constexpr std::size_t thread_slots = 64;
inline constexpr std::size_t shared_thread_slot = thread_slots - 1;

namespace detail {
struct slot_lease {
  slot_lease() noexcept;
  ~slot_lease();
  std::size_t number;
};
}  // namespace detail

inline std::size_t thread_slot() noexcept {
  thread_local const detail::slot_lease lease;
  return lease.number;
}

}  // namespace weft::base
