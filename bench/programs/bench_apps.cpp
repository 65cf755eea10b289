// `weft bench apps`: the programs of apps/ as weft programs beside the same programs with threads.
#include <algorithm>
#include <cstdio>
#include <future>
#include <memory>

#include "bench/programs/apps.h"
#include "bench/harness/bench_command.h"
#include "bench/harness/selection.h"
#include "bench/harness/text_table.h"
#include "bench/harness/turns.h"
#include "cli/commands.h"

namespace weft::bench {
namespace {

// Samples of one program in all the ways that are wanted.
class program_samples {
 public:
  program_samples(const measured_app& a, const selection& wanted, const settings& how) : app_(a), how_(how) {
    for (const auto& w : ways_of_running)
      if (wanted.wants(w.owner, a.label)) ways_.push_back(w);
  }

  double processes() const {
    double sum = 0;
    for (const auto& w : ways_)
      if (!w.beside) sum += processes_of(w) * how_.repeat;
    return sum;
  }

  // One sample of every way: the fastest of some processes of each, in turn.
  void take(collector& into) const {
    std::vector<entrant> all;
    unsigned most = 0;
    for (auto w = ways_.begin(); w != ways_.end(); ++w) {
      const bool paired = w + 1 != ways_.end() && (w + 1)->beside;
      most = std::max(most, processes_of(*w));
      all.push_back({.owner = w->owner, .title = w->title, .run = {}, .most = processes_of(*w)});
      if (paired)
        all.back().run = [this, w, swapped = false]() mutable { return run_both(w[0], w[1], swapped = !swapped); };
      else
        all.back().run = [this, w] { return run(*w); };
      if (paired) ++w;
    }
    into.take(take_turns(app_.label, all, most, into).least());
  }

 private:
  unsigned processes_of(const way_of_running& w) const { return how_.quick ? 1 : w.processes; }

  // At the same time, on a core each.
  result<measurements> run_both(const way_of_running& one, const way_of_running& other, bool swapped) const {
    auto second = std::async(std::launch::async, [&] { return run(other, !swapped); });
    auto found = run(one, swapped);
    const auto more = second.get();
    if (!more) return more.failure();
    if (found) found->add_all(*more);
    return found;
  }

  // Seconds, and what watching took.
  result<measurements> run(const way_of_running& w, bool swapped = false) const {
    const program_run one{.name = app_.program,
                          .arguments = how_.quick ? app_.quick_arguments : app_.arguments,
                          .workers = w.workers,
                          .protocol = w.protocol,
                          .fabric = w.fabric,
                          .repeat = how_.quick ? 1 : app_.runs,
                          .swapped = swapped};
    measurements found;
    const auto add = [&](const std::string& part, double value) { found.add(w.owner + part, app_.label, 0, "s", value); };
    if (!w.watched) {
      const auto seconds = run_program(one);
      if (!seconds) return seconds.failure();
      add("", *seconds);
      return found;
    }
    const auto counted = run_counted(one);
    if (!counted) return counted.failure();
    add("", counted->seconds);
    add(".phases", counted->watched_phases);
    add(".pages", counted->watched_pages);
    return found;
  }

  const measured_app& app_;
  const settings how_;
  std::vector<way_of_running> ways_;
};

bool measure(const selection& wanted, const settings& how, report& into) {
  std::vector<program_samples> programs;
  for (const auto& a : measured_apps()) programs.emplace_back(a, wanted, how);
  double processes = 0;
  for (const auto& p : programs) processes += p.processes();
  collector all(into, processes);
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

}  // namespace weft::bench
