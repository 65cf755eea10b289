// trace: what the threads of one node did, event by event, for `weft run --trace`. Each thread writes into a ring of its own; when that is
// full, the oldest events make room. Made only when somebody wants it: whoever has no trace pays a branch.
//
// Threads: any may add; anybody may take.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "base/thread_slot.h"

namespace weft::observe {

enum class trace_kind : std::uint8_t {
  read_fault,   // what: page
  write_fault,  // what: page
  fetch,        // what: first page; amount: bytes; node: the home
  release,
  acquire,
  wait,    // what: the object, or the number of the barrier; amount: a wait_kind
  unlock,  // what: the object
  put,     // amount: bytes; node: where
  get,
  atomic,
  enqueue,  // amount: words
  fence,
  send,    // what: handler; amount: bytes
  handle,  // what: handler; amount: bytes; node: the sender
};

class trace {
 public:
  static constexpr std::size_t most_events = 32768;  // of a thread
  static constexpr std::uint16_t nowhere = 0xffff;

  struct event {
    base::nanoseconds begin = 0, lasted = 0;
    std::uint64_t what = 0;
    std::uint32_t amount = 0;
    std::uint16_t node = nowhere;
    trace_kind kind{};
  };
  static_assert(sizeof(event) == 32);

  // By the thread with this slot. Threads that share the last slot leave no events.
  void add(std::size_t slot, const event& e) noexcept;
  void name(std::size_t slot, std::uint32_t number) noexcept;  // it is one of the program's

  struct thread {
    std::uint32_t slot = 0;
    std::int64_t number = -1;   // among the program's, or -1: the communication thread
    std::uint64_t lost = 0;     // events that had to make room
    std::vector<event> events;  // in the order in which they ended
  };
  std::vector<thread> take() const;

 private:
  struct ring {
    mutable std::atomic_flag held;  // guards what follows: against whoever takes, seldom
    std::unique_ptr<event[]> events;
    std::uint64_t count = 0;
    std::int64_t number = -1;
  };
  std::array<ring, base::thread_slots> rings_;
};

}  // namespace weft::observe
