// `weft bench apps`: the programs of apps/ as weft programs beside the same programs with threads.
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>

#include "cli/bench/apps.h"
#include "cli/bench/bench_command.h"
#include "cli/bench/selection.h"
#include "cli/bench/text_table.h"
#include "cli/commands.h"

namespace weft::cli {
namespace {

using namespace bench;

// Samples of one program in all the ways that are wanted.
class program_samples {
 public:
  program_samples(const measured_app& a, const selection& wanted, const settings& how) : app_(a), how_(how) {
    for (const auto& w : ways_of_running)
      if (wanted.wants(w.owner, a.label)) ways_.push_back(w);
  }

  double runs() const { return static_cast<double>(ways_.size()) * how_.repeat * rounds(); }

  using values = std::map<std::string, double>;  // by owner

  // One sample of every way: the fastest of some processes of each, in turn, so that all of them meet the machine's better moments.
  void take(collector& into) const {
    values fastest;
    for (unsigned round = 0; round < rounds(); ++round)
      for (const auto& w : ways_) {
        into.advance(1, app_.label + ", " + w.title);
        const auto found = run(w);
        if (!found) into.fail(found.sentence());
        for (const auto& [owner, value] : found ? *found : values{}) {
          auto& least = fastest.emplace(owner, value).first->second;
          least = std::min(least, value);
        }
      }
    for (const auto& [owner, value] : fastest) into.add(owner, app_.label, value);
  }

 private:
  unsigned rounds() const { return how_.quick ? 1 : 3; }

  // Seconds, and what watching took, by owner.
  result<values> run(const way_of_running& w) const {
    const program_run one{app_.program,
                          how_.quick ? app_.quick_arguments : app_.arguments,
                          w.workers,
                          w.protocol,
                          w.fabric,
                          "",
                          how_.quick ? 1 : std::max(app_.runs / rounds() / w.slower, 2u)};
    const std::string owner = w.owner;
    if (!w.watched) {
      const auto seconds = run_program(one);
      if (!seconds) return seconds.failure();
      return values{{owner, *seconds}};
    }
    const auto counted = run_counted(one);
    if (!counted) return counted.failure();
    return values{
        {owner, counted->seconds}, {owner + ".phases", counted->watched_phases}, {owner + ".pages", counted->watched_pages}};
  }

  const measured_app& app_;
  const settings how_;
  std::vector<way_of_running> ways_;
};

bool measure(const selection& wanted, const settings& how, report& into) {
  std::vector<program_samples> programs;
  for (const auto& a : measured_apps()) programs.emplace_back(a, wanted, how);
  double runs = 0;
  for (const auto& p : programs) runs += p.runs();
  collector all(into, runs);
  for (const auto& p : programs)
    for (unsigned i = 0; i < how.repeat; ++i) p.take(all);
  return all.complete();
}

std::string times_text(const report& r) {
  std::vector<std::string> head = {"seconds"};
  for (const auto& w : ways_of_running) head.push_back(w.title);
  text_table t(head);
  for (const auto& a : measured_apps()) {
    std::vector<std::string> cells = {a.label};
    for (const auto& w : ways_of_running) cells.push_back(short_number(value_of(r.found, w.owner, a.label)));
    if (!all_missing(cells)) t.row(std::move(cells));
  }
  return t.text();
}

int bench_apps(const bench_request& r) {
  std::vector<std::string> none;
  if (!prepare(r, none)) return status_usage;
  std::vector<std::string> names;
  for (const auto& a : measured_apps()) names.push_back(a.program);
  if (const auto missing = programs_missing(names); !missing.empty()) {
    complain(missing);
    return status_failed;
  }
  const selection wanted(r.only, apps_requirements());
  auto all = new_report("apps", r, wanted.judged());
  for (const auto& w : ways_of_running) all.fabrics.push_back({w.owner, w.title});
  const bool complete = measure(wanted, settings_of(r), all);
  print_heading(all);
  std::printf("%s\n%s", ratios_text(all).c_str(), times_text(all).c_str());
  for (const auto& note : all.notes) std::printf("%s\n", note.c_str());
  write_results(r, all);
  return complete ? 0 : status_failed;
}

}  // namespace

void add_bench_apps(CLI::App& bench, int& exit_status) {
  auto* apps = bench.add_subcommand("apps", "The programs of apps/ beside the same programs with threads, on this host");
  const auto r = std::make_shared<bench_request>();
  add_options(*apps, *r);
  add_only(*apps, *r, apps_requirements());
  apps->callback([=, &exit_status] { exit_status = bench_apps(*r); });
}

}  // namespace weft::cli
