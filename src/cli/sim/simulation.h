// Simulations: what is to be simulated, and running many of them on all cores.
//
// A simulation is a process of its own: the program, which is linked with the simulator, told by its environment what the machine is
// like (sim/machine/settings.h).
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace weft::simulator {

struct simulation {
  std::string name;                             // for people
  std::vector<std::string> words;               // the program and its arguments
  std::map<std::string, std::string> settings;  // as in sim/machine/settings.h
  double weight = 1;                            // about how long it takes, compared with others

  std::string settings_text() const;
};

// What became of one: its report, which is empty if it failed, and what it printed.
struct outcome {
  nlohmann::json report;
  std::string printed;
  int exit_status = 0;
};

// Why one of them cannot be simulated, with its settings; throws a sentence. Each program is looked at once.
void check(const std::vector<simulation>& all);

// Runs one here: it prints where we print.
outcome run(const simulation& s);

struct ways {
  unsigned at_once = 0;  // 0: as many as there are cores
  std::string keep;      // a directory: reports are kept there, and those that are there are not made again
};

// Runs all, in the order of their weights; outcomes in the order given. The first that fails is thrown as a sentence.
std::vector<outcome> run_all(const std::vector<simulation>& all, const ways& how);

}  // namespace weft::simulator
