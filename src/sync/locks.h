// All mutexes of a job. Two ways: a queue of words where words can be swapped remotely (word_locks.h), and messages that carry a
// protocol's notices (message_locks.h).
//
// A lock that nobody else asks for costs its node no message, and its release is put off (releases.h).
//
// A lock has a number: which node manages it, and which of its locks it is. Locking acquires and unlocking releases in the sense of
// the coherence protocol. Any thread; a thread that holds a lock does not lock it again.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include <weft/port.h>

namespace weft::sync {

using object_number = std::uint64_t;

// The number of an object that `node` manages.
inline constexpr std::uint32_t most_objects = 1u << 22;  // of one node
inline object_number number_of(node_id node, std::uint32_t index) {
  return object_number{node} << 32 | (index + 1);
}
inline node_id manager_of(object_number n) {
  return static_cast<node_id>(n >> 32);
}
inline std::uint32_t index_of(object_number n) {
  return static_cast<std::uint32_t>(n) - 1;
}

class locks {
 public:
  using duration = std::chrono::nanoseconds;

  virtual ~locks() = default;

  // Takes the lock if it is here and free, and nothing is to be acquired with it: without a wait or a message.
  virtual bool take_here(object_number n) = 0;

  // False: not within the limit. A limit of zero may fail although nobody holds the lock.
  virtual result<bool> lock(object_number n, duration limit) = 0;
  // Who knows that another node is about to ask says so: then nothing is put off that it would wait for.
  virtual status unlock(object_number n, bool soon_wanted = false) = 0;

  // The locks that threads of this node hold, at some moment of the call.
  virtual std::vector<object_number> held() = 0;
};

}  // namespace weft::sync
