// What the subcommands of `weft bench` have in common: their options, the checks before anything is measured, and where results go.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

#include <weft/status.h>

#include "bench/harness/report.h"
#include "bench/harness/schedule.h"
#include "terminal/complain.h"
#include "terminal/progress_bar.h"

namespace weft::bench {

using terminal::complain;
using terminal::status_failed;
using terminal::status_usage;

// The subcommands, each in the folder of its name.
void add_bench_fabric(CLI::App& bench, int& exit_status);
void add_bench_vmmc(CLI::App& bench, int& exit_status);
void add_bench_memory(CLI::App& bench, int& exit_status);
void add_bench_apps(CLI::App& bench, int& exit_status);
void add_bench_protocols(CLI::App& bench, int& exit_status);
void add_bench_prediction(CLI::App& bench, int& exit_status);
void add_bench_node(CLI::App& bench, int& exit_status);  // not for people: what they start

struct bench_request {
  std::string fabrics;  // with commas between them
  std::string json, plots;
  std::string only;     // one key; empty: all
  unsigned repeat = 0;  // 0: as many as the mode has
  bool quick = false;
};

void add_options(CLI::App& command, bench_request& r);         // that all have
void add_fabric_options(CLI::App& command, bench_request& r);  // and those that measure a list of fabrics
void add_only(CLI::App& command, bench_request& r, const std::vector<requirement>& among);
settings settings_of(const bench_request& r);

// Complains and says false when a fabric is unknown; throws weft::error when results could not be written.
bool prepare(const bench_request& r, std::vector<std::string>& fabrics);

// Collects measurements into a report and shows progress; a failure is told and remembered, and the rest goes on.
class collector {
 public:
  collector(report& into, double total) : into_(into), bar_(total) {}

  void take(const result<measurements>& m);
  void add(const std::string& owner, const std::string& name, double seconds) { into_.found.add(owner, name, 0, "s", seconds); }
  void fail(const std::string& sentence);
  void note(const std::string& sentence) { into_.notes.push_back(sentence); }  // what is not measured, and why
  void advance(double by, const std::string& what) { bar_.advance(by, what); }
  bool complete() const { return complete_; }

 private:
  report& into_;
  terminal::progress_bar bar_;
  bool complete_ = true;
};

// About this machine and this command (`weft bench NAME`); `judged_by` must outlive it.
report new_report(const std::string& name, const bench_request& r, const std::vector<requirement>& judged_by);

void print_heading(const report& r);
void write_results(const bench_request& r, const report& all);

}  // namespace weft::bench
