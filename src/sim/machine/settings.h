// What `weft sim` tells a simulated program, in one environment variable: words NAME=VALUE with spaces between them. Names are
// processors, protocol, interface (none: only messages), network (sim/machine/networks.h), report (a descriptor), and those of parameters.
#pragma once

#include <string>

#include "sim/machine/machine.h"

namespace weft::sim {

inline constexpr const char* settings_variable = "WEFT_SIM";
inline constexpr const char* program_mark = "weft simulated program";  // in the file of every simulated program
inline constexpr node_id most_processors = 1024;

struct settings {
  machine_options machine;
  int report_to = -1;  // a descriptor that gets the report, or none
};

// One sentence about what cannot be.
result<settings> read_settings(const std::string& text);

}  // namespace weft::sim
