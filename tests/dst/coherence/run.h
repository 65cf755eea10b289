// One run: a program on simulated nodes, with an oracle that watches it.
#pragma once

#include <optional>
#include <string>

#include "dst/coherence/cluster.h"
#include "dst/coherence/program.h"

namespace dst {

struct outcome {
  std::optional<std::string> failure;
  std::uint64_t hash = 0, steps = 0;
};

// What the seed says about the nodes and the network that the program runs on.
cluster_options surroundings(std::uint64_t seed, const std::string& protocol, node_id nodes);

// `trace`: prints each step of each thread.
outcome run(const program& p, const cluster_options& o, chooser& by, bool trace);

// All by one seed.
outcome run_seed(const std::string& protocol, std::uint64_t seed);

}  // namespace dst
