// The program at the same address on every node, so that a pointer to its data or functions means the same everywhere.
//
// The kernel places programs and libraries at random. A process can ask it not to, for the programs that it starts from then on: so
// the program starts itself anew, once, before it has done anything. Where that is not allowed (some containers), programs that are
// linked for a fixed address (-no-pie) still work.
#pragma once

#include <weft/job.h>

namespace weft::parmacs {

// At the very start of a node of a job; returns in the process that goes on.
void start_at_fixed_address(char** arguments);

// Collective: ends the program if it does not lie where it does on node 0. Returns whether its libraries are elsewhere on some node.
bool compare_addresses(job& with);

}  // namespace weft::parmacs
