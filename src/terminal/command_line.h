// The command line of weft's programs: taken apart by CLI11, and whatever goes wrong told in one sentence.
#pragma once

#include <CLI/CLI.hpp>

#include <functional>
#include <string>
#include <vector>

#include "terminal/complain.h"

namespace weft::terminal {

// A program's own words, and those after the first "--", which CLI11 does not see: it would go on taking options after it.
struct command_line {
  command_line(int argc, char** argv);
  std::vector<std::string> words, after_dashes;
};

// Has `program` take the words apart and call what they ask for, which sets `exit_status`; returns the status to end with. `called` is the
// program as people type it; `prepare` may put the words in order first. An exception reaches the user as one sentence and gives
// status_failed; a command line that makes no sense gives status_usage.
int run(CLI::App& program, const std::string& called, std::vector<std::string> words, const int& exit_status,
        const std::function<void(std::vector<std::string>&)>& prepare = {});

}  // namespace weft::terminal
