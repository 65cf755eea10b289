// A paper's experiments: programs on systems, with variations, simulated once for each seed, asked for by name. And its claims, each a check
// that can fail.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/sim/simulation.h"
#include "terminal/write_file.h"

namespace weft::research {

using simulator::outcome;
using simulator::simulation;
using simulator::ways;
using terminal::write_file;

using setting_map = std::map<std::string, std::string>;

struct program {
  std::string name;                    // of the file, without _sim
  std::vector<std::string> arguments;  // the paper's size
  std::vector<std::string> quick;      // a small one
  double weight;                       // seconds at the paper's size, about
  unsigned seeds = 1;                  // of its data: the mean of so many runs counts, where the time of one depends on chance
  std::string form = {};               // where there are several of one program

  std::string called() const { return form.empty() ? name : name + " (" + form + ")"; }
};

struct system {
  std::string name;
  setting_map settings;
  std::vector<std::string> arguments = {};  // that programs get besides their own
};

// One run: a program as it is called, a system, so many processors, and what else is different.
struct point {
  std::string program, system;
  unsigned processors;
  setting_map variation = {};
  auto operator<=>(const point&) const = default;
};

struct request {
  bool quick = false;
  bool guessed = false;              // Cashmere's programs as readers guessed them who did not know its results
  bool forms = false;                // all forms of them that there are
  std::string programs;              // where the simulated programs are
  std::vector<std::string> instead;  // "gauss --size 640": a program with these arguments instead of the paper's or the quick ones
  setting_map machine;               // numbers of every machine that are not the paper's
  ways how;
  std::string html, json;
};

class experiment {
 public:
  experiment(std::vector<program> programs, std::vector<system> systems, const request& r);

  void want(const point& p) { reports_[p].resize(of(p).seeds); }
  void run();  // all that are wanted; throws a sentence if they set a number themselves that was asked for

  const nlohmann::json& report(const point& p) const { return reports_.at(p).front(); }
  double cycles(const point& p) const;
  double ratio(const point& a, const point& b) const { return cycles(a) / cycles(b); }
  // What is not as usual, but as asked for: programs and what was asked of them, and numbers of the machines. And a sentence about all that,
  // empty if everything is as usual.
  const std::map<std::string, std::string>& instead() const noexcept { return instead_; }
  const setting_map& machine() const noexcept { return request_.machine; }
  std::string told_changes() const;
  nlohmann::json all() const;            // every run's report
  double references_per_second() const;  // of processor time

 private:
  const program& of(const point& p) const;
  simulation simulation_of(const point& p, std::size_t seed) const;

  std::vector<program> programs_;
  std::vector<system> systems_;
  const request& request_;
  std::map<std::string, std::string> instead_;
  std::map<point, std::vector<nlohmann::json>> reports_;  // by seed
};

struct claim {
  std::string name, sentence;  // what the paper says
  bool held;
  std::string seen;  // the numbers here
};

nlohmann::json json_of(const std::vector<claim>& claims);
std::string html_of(const std::vector<claim>& claims);
void print(const std::vector<claim>& claims);

// How well two rankings agree: 1 the same, -1 the reverse (Spearman). Equal values share their places.
double rank_agreement(const std::vector<double>& a, const std::vector<double>& b);

int cashmere_paper(const request& r);
int cashmere_forms(const request& r);
int shrimp_paper(const request& r);

}  // namespace weft::research
