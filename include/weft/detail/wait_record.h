// wait_record: what a thread waits for, and where. A space keeps one for every thread of its node, so that a job that does not get on
// can tell who waits for what (docs/statistics.md, "The roll-call").
#pragma once

#include <cstdint>

namespace weft {

enum class wait_kind : std::uint8_t {
  nothing,
  mutex,
  shared_mutex,
  condition,
  value,          // of a flag or a counter
  barrier,        // of all nodes
  group_barrier,  // of some threads
  team,           // the other threads of a team on this node
  page,           // a page that the program has used and that is not here
  meeting,        // of all nodes, at the end of the job or in job::exchange
};
inline constexpr unsigned wait_kinds = 10;

struct wait_record {
  wait_kind what = wait_kind::nothing;
  std::uint64_t object = 0;       // which one: the same number on every node
  const void* address = nullptr;  // of the object, as this node's program knows it
  std::uint64_t detail = 0;       // the value that is waited for, or the number of the barrier
  const void* caller = nullptr;   // where in the program
  std::int64_t since = 0;         // on the clock of whoever keeps the record
};

}  // namespace weft
