// The numbers of the simulated machine as options of a command: one for each of sim/machine/parameters.h, and the networks of today.
#pragma once

#include <CLI/CLI.hpp>

#include <map>
#include <string>

namespace weft::simulator {

// By name of the option; what is not given stays empty.
void add_machine_options(CLI::App& command, std::map<std::string, std::string>& values);

}  // namespace weft::simulator
