// The phrases in which the launcher and the nodes speak of nodes and of how they ended.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"

namespace weft::runtime {

// "node 3", "nodes 1 and 3", "nodes 1, 3 and 12 more".
std::string name_nodes(const std::vector<std::uint32_t>& nodes);

// The rest of a sentence that starts with a node, from what waitpid says: "exited with status 3", "was killed by signal 9
// (Killed)".
std::string describe_end(int wait_status);

// The status that a shell would give: the exit status, or 128 and the signal.
int shell_status(int wait_status);

// "250 ms", "5 s", "1.5 s".
std::string describe_duration(base::nanoseconds d);

}  // namespace weft::runtime
