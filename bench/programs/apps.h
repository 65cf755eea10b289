// The programs that `weft bench apps` runs, at the sizes by which weft is judged, and the ways in which it runs them.
#pragma once

#include <string>
#include <vector>

#include "bench/programs/programs.h"
#include "bench/harness/requirements.h"

namespace weft::bench {

struct measured_app {
  std::string label;  // of its measurements and keys
  std::string program;
  std::vector<std::string> arguments, quick_arguments;
  unsigned runs;          // in one process
  double cashmere_bound;  // on its speed over shm, or only_reported
  bool direct = true;     // whether it has a key for direct
};

struct way_of_running {
  const char* owner;  // of the measurements
  const char* title;
  const char* protocol;  // as in program_run
  const char* fabric;
  unsigned workers;
  unsigned
      processes;  // for a sample, which is their fastest run: others use the machine as well, and every process gets other memory
  bool watched = false;  // with --stats; `owner`.phases and .pages are the shares of the time that this takes
  bool beside = false;   // at the same time as the way before it, which has one worker too, on the other core; they swap every time
};

// Ways by whose time weft is judged have more processes. Plain is one thread of the threaded program: the program's own arithmetic
// and nothing that waits.
inline constexpr way_of_running ways_of_running[] = {
    {"threads", "2 threads", "", "shm", 2, 6},
    {"direct.shm", "direct", "direct", "shm", 2, 6},
    {"cashmere.shm", "cashmere on shm", "cashmere", "shm", 2, 6},
    {"cashmere.shm.copied", "cashmere on shm, copied", "cashmere:copied", "shm", 2, 1},
    {"hlrc.udp", "hlrc on udp", "hlrc", "udp", 2, 1},
    {"statistics.shm", "copied, --stats", "cashmere:copied", "shm", 2, 1, true},
    {"statistics.udp", "hlrc, --stats", "hlrc", "udp", 2, 1, true},
    {"plain", "plain", "", "shm", 1, 6},
    {"one_node", "one node", "direct", "shm", 1, 6, false, true},
    {"one_node_cashmere", "one node, cashmere", "cashmere", "shm", 1, 1},
};

const std::vector<measured_app>& measured_apps();
const std::vector<requirement>& apps_requirements();

}  // namespace weft::bench
