// A program in the simulator: the machine that it runs on. One a process.
#pragma once

#include "sim/machine.h"

namespace weft::sim {

extern machine* simulated;  // null: before and after the run

// The node whose program calls.
inline machine::node& here() {
  if (!simulated || !simulated->running()) throw error(errc::invalid_argument, "weft was used where no simulated processor runs");
  return simulated->at(simulated->running()->self());
}

}  // namespace weft::sim
