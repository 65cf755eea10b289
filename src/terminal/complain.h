// How every subcommand speaks of failure: one sentence on standard error, and an exit status.
#pragma once

#include <string>

namespace weft::terminal {

// Exit statuses that mean the same in every subcommand.
inline constexpr int status_failed = 1;
inline constexpr int status_usage = 2;

// "weft: sentence" on standard error.
void complain(const std::string& sentence);

}  // namespace weft::terminal
