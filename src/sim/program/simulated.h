// A program in the simulator: the machine that it runs on. One a process.
#pragma once

#include "space/ending.h"
#include "sim/machine/machine.h"

namespace weft::sim {

extern machine* simulated;            // null: before and after the run
extern thread_local bool own_thread;  // whether the calling thread is the simulator's

// The node whose program calls.
inline machine::node& here() {
  if (!own_thread)
    runtime::end_with(errc::invalid_argument, "a simulated processor runs one thread; start the program with one worker a node");
  if (!simulated || !simulated->running()) throw error(errc::invalid_argument, "weft was used where no simulated processor runs");
  return simulated->at(simulated->running()->self());
}

}  // namespace weft::sim
