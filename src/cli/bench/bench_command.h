// What the subcommands of `weft bench` have in common: their options, the checks before anything is measured, and where results go.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

#include "cli/bench/report.h"
#include "cli/bench/schedule.h"

namespace weft::cli {

void add_bench_vmmc(CLI::App& bench, int& exit_status);

namespace bench {

struct bench_request {
  std::string fabrics;  // with commas between them
  std::string json, plots;
  unsigned repeat = 0;  // 0: as many as the mode has
  bool quick = false;
};

void add_options(CLI::App& command, bench_request& r);
settings settings_of(const bench_request& r);

// Complains and says false when a fabric is unknown; throws weft::error when results could not be written.
bool prepare(const bench_request& r, std::vector<std::string>& fabrics);

void print_heading(const report& r);
void write_results(const bench_request& r, const report& all);

}  // namespace bench
}  // namespace weft::cli
