// A sweep: options with several values each, and every combination of them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/sim/simulation.h"

namespace weft::simulator {

// All combinations of the options' values, which are separated by commas; an option without a value is left out. A simulation's name
// says the options that have several.
std::vector<simulation> combinations(const std::map<std::string, std::string>& options, const std::vector<std::string>& words);

// One page with the outcomes of simulations: bars of where their time goes, and a table.
std::string page_of(const std::string& title, const std::vector<simulation>& all, const std::vector<outcome>& outcomes);

// The parts of a breakdown in the order in which they are shown.
inline constexpr const char* parts_of_time[] = {"compute",   "cache_stall", "protocol",       "diff",
                                                "interrupt", "page_copy",   "synchronisation"};

}  // namespace weft::simulator
