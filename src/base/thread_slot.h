// A small number for the calling thread, reused after it ends, so that per-thread data can live in plain arrays.
//
// The first slots - 1 threads alive at a time have a slot to themselves; all others share the last one. Data indexed by an
// exclusive slot needs no atomic read-modify-write; data in the shared slot does.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::base {

inline constexpr std::size_t thread_slots = 64;
inline constexpr std::size_t shared_thread_slot = thread_slots - 1;

// A slot, and a number that no other thread of the process ever has.
struct thread_identity {
  std::size_t slot;
  std::uint64_t serial;
};

namespace detail {
struct slot_lease {
  slot_lease() noexcept;
  ~slot_lease();
  thread_identity mine;
};
}  // namespace detail

inline const thread_identity& calling_thread() noexcept {
  thread_local const detail::slot_lease lease;
  return lease.mine;
}
inline std::size_t thread_slot() noexcept {
  return calling_thread().slot;
}

}  // namespace weft::base
