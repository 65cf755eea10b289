// The programs of apps/, run for their time: as weft programs on some nodes, or as plain threaded programs.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <weft/status.h>

#include "launch/subprocess.h"

namespace weft::bench {

struct program_run {
  std::string name;
  std::vector<std::string> arguments;
  unsigned workers = 2;  // nodes with one worker each, or threads; worker i on core i
  std::string protocol;  // empty: the threaded program
  std::string fabric = "shm";
  std::string engine = "";  // empty: weft chooses
  unsigned repeat = 1;      // times in one process
  double limit = 300;       // seconds; then it has failed
  bool swapped = false;     // workers are on each other's cores
  bool by_turns = false;    // it runs when it is told to; for a program_by_turns
};

// Seconds of the program's parallel part, the fastest if it is repeated.
result<double> run_program(const program_run& r);

// The same, the protocol that the program says it used, and what all nodes together did from their start to their end, by run: calls of
// the port and bytes in them. Every number of `weft run --stats` by its name, of all runs.
struct counted_run {
  double seconds, messages, bytes;
  double watched_phases, watched_pages;  // shares of the threads' time, for what --stats tells
  std::string protocol;
  std::map<std::string, std::uint64_t> counts = {};
};
result<counted_run> run_counted(const program_run& r);

// A program that is run once each time that it is told to, `repeat` times at most, and waits meanwhile. So runs of several programs can follow
// one another at once, and what else the machine does meets them all.
class program_by_turns {
 public:
  static result<program_by_turns> start(program_run r);
  result<double> run();  // its seconds
  void end();            // after the last run

 private:
  program_by_turns(program_run r, launch::subprocess p) : what_(std::move(r)), process_(std::move(p)) {}

  program_run what_;
  launch::subprocess process_;
};

// What to do so that these programs can be run, as nodes and maybe with threads alone; empty if they can.
std::string programs_missing(const std::vector<std::string>& names, bool with_threads = true);

}  // namespace weft::bench
