// The options that a launch hands to the runtime of every node (identity::options), their names in the environment, and what is
// wrong with them if anything is. `weft run` takes them from its command line over its environment; under PMIx and alone they come
// from the environment, under PMIx from that of node 0 for all nodes.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include <weft/status.h>

namespace weft::runtime {

using launch_options = std::map<std::string, std::string>;

// From the environment: WEFT_FABRIC gives "fabric", WEFT_STALL_AFTER "stall-after", and so on.
launch_options options_from_environment();

// The fabric that is named, or what weft chooses: udp where its datagrams are to be impaired, else shm on one host and udp on several.
std::string fabric_of(const launch_options& options, std::uint32_t hosts);

// One sentence about the first option that makes no sense for a job of this shape.
status check_options(const launch_options& options, std::uint32_t nodes, std::uint32_t hosts);

}  // namespace weft::runtime
