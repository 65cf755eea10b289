// What `weft bench protocols` runs: the programs of apps/ at sizes that take some tens of milliseconds, on all protocols, and the keys that
// are made of it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/programs/programs.h"
#include "bench/harness/requirements.h"

namespace weft::bench {

struct compared_app {
  std::string label, program;
  std::vector<std::string> arguments, quick_arguments;
};
const std::vector<compared_app>& compared_apps();

// A protocol on a fabric with so many nodes.
struct surroundings {
  std::string fabric;
  unsigned nodes;
};
inline const surroundings all_surroundings[] = {{"shm", 2}, {"shm", 4}, {"udp", 2}, {"udp", 4}};

inline constexpr auto auto_protocol = "auto";

// Those that keep memory coherent in software, and variants of cashmere.
const std::vector<std::string>& compared_protocols();

// Not where a variant is what the plain name means: cashmere copies where no memory is mapped.
bool compared_on(const std::string& protocol, const surroundings& s);

// The owner of measurements: "hlrc.udp.2". Names are a program's label, with ".messages" and ".bytes" behind it what it sent, and
// auto_beside() for runs of auto and of the one that is best of the others, by other runs.
std::string owner_of(const std::string& protocol, const surroundings& s);
std::string auto_beside(const std::string& best, const compared_app& a);

// The run of a program; programs whose stores are reported for `aurc`, where there is one.
program_run run_of(const compared_app& a, const std::string& protocol, const surroundings& s, bool quick);

constexpr double most_over_best = 1.05;  // that auto may take

// Auto's time beside that of the protocol that is best there, if they were measured. Where auto is the best itself under another name, 1.
std::optional<double> auto_over_best(const measurements& m, const compared_app& a, const surroundings& where);

const std::vector<requirement>& protocols_requirements();

}  // namespace weft::bench
