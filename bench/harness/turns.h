// Runs of one program in several ways, which take turns: what else the machine does meets all of them.
//
// Others only add to a run's time, so the fastest of several runs is what counts, and more turns come closer to it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/harness/bench_command.h"
#include "bench/harness/measurement.h"

namespace weft::bench {

struct entrant {
  std::string owner;  // of the measurements
  std::string title;  // for the progress bar
  std::function<result<measurements>()> run;
  unsigned most = ~0u;  // rounds
};

// All that the runs measured. `label` is what `owner`'s time is called in it. Failures are told, and the turns go on.
measurements take_turns(const std::string& label, const std::vector<entrant>& all, unsigned rounds, collector& into);

}  // namespace weft::bench
