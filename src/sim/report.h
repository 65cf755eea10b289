// What a run of the simulated machine has shown, as a JSON object: docs/simulator.md.
#pragma once

#include <string>

#include "sim/machine.h"

namespace weft::sim {

std::string report(machine& m, double host_seconds);

}  // namespace weft::sim
