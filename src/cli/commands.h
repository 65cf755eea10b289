// The subcommands of `weft`. To add one: write add_NAME() in a file of its own, declare it here, and call it in main.cpp.
//
// add_NAME() gives the subcommand its options and a callback; the callback does the work and sets the exit status of the program.
// What a callback throws reaches the user as one sentence and gives exit status 1.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

#include "terminal/command_line.h"

namespace weft::cli {

using terminal::complain;
using terminal::status_failed;
using terminal::status_usage;

// `after_dashes` are the words after the first "--" of the command line, which CLI11 does not see.
void add_run(CLI::App& weft, int& exit_status, const std::vector<std::string>& after_dashes);
void add_agent(CLI::App& weft, int& exit_status);
void add_sim(CLI::App& weft, int& exit_status, const std::vector<std::string>& after_dashes);
// The words from `sim` on: a program that comes first goes behind the options that follow it, where CLI11 looks for it.
void put_options_first(const CLI::App& sim, std::vector<std::string>& words);
void add_doctor(CLI::App& weft, int& exit_status);
void add_report(CLI::App& weft, int& exit_status);
void add_top(CLI::App& weft, int& exit_status);

}  // namespace weft::cli
