// What a run of the simulated machine has shown, as a JSON object: docs/simulator.md.
#pragma once

#include <string>

#include "sim/machine/machine.h"

namespace weft::sim {

// What the simulation itself took.
struct host_time {
  double seconds, of_processor;  // that have passed; of the thread that simulates
};

std::string report(machine& m, const host_time& took);

}  // namespace weft::sim
