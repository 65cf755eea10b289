// An operation that can be measured: what the leader does and times, and what the follower does meanwhile.
//
// Both nodes have the same list of operations; the leader orders one by its place in the list. `size` is the operation's own
// parameter (bytes, mostly), `count` how often it is repeated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace weft::bench {

class duo;

// Nanoseconds for all repetitions together. What an operation has no notion of stays 0.
struct timing {
  double whole = 0;      // from the first call until all is performed
  double sending = 0;    // of that, in the sender's calls
  double receiving = 0;  // on the follower, from the first arrival to the last
  double waits = 0;      // not a time: how often the sender waited for the other side
};

struct operation {
  const char* name;
  timing (*lead)(duo& d, std::size_t size, std::uint64_t count);
  void (*follow)(duo& d, std::size_t size, std::uint64_t count);
  std::uint64_t step = 1;  // `count` is a multiple of this
};

std::span<const operation> message_operations();
std::span<const operation> one_sided_operations();
std::span<const operation> bare_memory_operations();
std::span<const operation> bare_socket_operations();
std::span<const operation> bare_fault_operations();
std::span<const operation> page_operations();
std::span<const operation> synchronisation_operations();
std::span<const operation> one_sided_vmmc_operations();
std::span<const operation> vmmc_operations();
std::span<const operation> typed_message_operations();

// All of the above, in the order by which they are known to both nodes.
const std::vector<operation>& all_operations();

}  // namespace weft::bench
