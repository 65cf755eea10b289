// A sample: what a node has counted so far and what costs it most, for `weft top`, as one JSON object. Sums since the job began: whoever
// looks twice knows what happened in between.
//
//   {"protocol": "hlrc", "fabric": "udp", "uptime": 12.5, "counts": {"read_faults": 3, ...}, "time": [compute, page_fetch, lock, barrier,
//    handler, protocol], "watching": seconds, "pages": [[page, faults and fetches and writes], ...], "locks": [["name", operations, seconds], ...]}
#pragma once

#include <string>

#include "observe/activity.h"
#include "space/observed.h"

namespace weft::runtime {

// Has what a sample tells counted from now on.
void begin_sampling(observe::activity& a, observed& shared);

std::string sample(observe::activity& a, base::nanoseconds began, observed& shared, const port& p);

}  // namespace weft::runtime
