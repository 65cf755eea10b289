// A lock that several nodes want all the time: how long it takes from one to the next.
#pragma once

#include <cstdint>

#include <weft/sync.h>

#include "bench/sides/arena.h"
#include "bench/harness/schedule.h"

namespace weft::bench {

// Together: every node takes the lock `count` times, as fast as it can get it, and notes when. Nanoseconds from when one node took it to
// when another did, the holder having given it away as soon as it had noted the time; on average, up to when the first node was done.
// On node 0; 0 elsewhere. A node that takes the lock again has handed nothing over. At most most_hand_overs on a node.
double hand_over(shared_arena& shared, weft::mutex& lock, std::uint64_t count);

inline constexpr std::uint64_t most_hand_overs = arena_field / most_measuring / sizeof(std::uint64_t);

// Together: samples of it among all nodes of the job, by the number of nodes. On node 0; empty elsewhere.
measurements contend(job& all, const std::string& owner, const settings& how, const std::function<void(const item&)>& step);

}  // namespace weft::bench
