// Runs of one program in several ways, which take turns: what else the machine does meets all of them.
//
// Others only add to a run's time, so the fastest of several runs is what counts, and more turns come closer to it. Where all that matters is
// which way is the fastest, and by how much one is behind it, the slow ones need no further turns.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/bench/bench_command.h"
#include "cli/bench/measurement.h"

namespace weft::cli::bench {

struct entrant {
  std::string owner;  // of the measurements
  std::string title;  // for the progress bar
  std::function<result<measurements>()> run;
  bool stays = false;  // however slow it is
  unsigned most = ~0u;  // rounds
};

struct turns {
  unsigned rounds;
  unsigned of_all = ~0u;  // after so many rounds the slow ones are left out
  double slow = 1;        // those that take so many times as long as the fastest
};

// All that the runs measured. `label` is what `owner`'s time is called in it. Failures are told, and the turns go on.
measurements take_turns(const std::string& label, const std::vector<entrant>& all, const turns& how, collector& into);

}  // namespace weft::cli::bench
