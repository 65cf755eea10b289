// `weft bench protocols`: the programs of apps/ on every protocol that keeps memory coherent in software; time, messages and bytes.
#include <cmath>
#include <cstdio>
#include <memory>

#include "cli/bench/bench_command.h"
#include "cli/bench/protocols.h"
#include "cli/bench/selection.h"
#include "cli/bench/text_table.h"
#include "cli/commands.h"

namespace weft::cli {
namespace {

using namespace bench;

struct protocols_request : bench_request {
  unsigned minutes = 60;
};

struct wanted_run {
  const compared_app& app;
  const std::string& protocol;
  const surroundings& where;
};

// Protocols take turns: a program runs on all of them before the next one does.
std::vector<wanted_run> wanted_runs(const selection& wanted) {
  std::vector<wanted_run> all;
  for (const auto& s : all_surroundings)
    for (const auto& a : compared_apps())
      for (const auto& p : compared_protocols())
        if (compared_on(p, s) && wanted.wants(owner_of(p, s), a.label)) all.push_back({a, p, s});
  return all;
}

bool measure(const selection& wanted, const protocols_request& r, report& into) {
  const auto how = settings_of(r);
  const auto runs = wanted_runs(wanted);
  const auto until = base::now() + base::nanoseconds{r.minutes} * 60 * base::second;
  collector all(into, static_cast<double>(runs.size()) * how.repeat);
  for (unsigned i = 0; i < how.repeat; ++i)
    for (const auto& w : runs) {
      if (base::now() > until) {
        all.note(base::format("the time limit of %u minutes was reached; not everything was measured %u times", r.minutes, how.repeat));
        return false;
      }
      const auto owner = owner_of(w.protocol, w.where);
      all.advance(1, w.app.label + ", " + owner);
      const auto done = run_counted(run_of(w.app, w.protocol, w.where, how.quick));
      if (!done) {
        all.fail(done.sentence());
        continue;
      }
      into.found.add(owner, w.app.label, 0, "s", done->seconds);
      into.found.add(owner, w.app.label + ".messages", 0, "times", done->messages);
      into.found.add(owner, w.app.label + ".bytes", 0, "bytes", done->bytes);
    }
  return all.complete();
}

// One table for each kind of number and each surroundings: programs down, protocols across.
std::string table_text(const report& r, const surroundings& s, const std::string& title, const std::string& suffix, double scale) {
  std::vector<std::string> head = {base::format("%s, %u nodes over %s", title.c_str(), s.nodes, s.fabric.c_str())};
  for (const auto& p : compared_protocols()) head.push_back(p);
  text_table t(head);
  bool any = false;
  for (const auto& a : compared_apps()) {
    std::vector<std::string> cells = {a.label};
    for (const auto& p : compared_protocols()) cells.push_back(short_number(value_of(r.found, owner_of(p, s), a.label + suffix), scale));
    if (all_missing(cells)) continue;
    any = true;
    t.row(std::move(cells));
  }
  return any ? t.text() + "\n" : "";
}

int bench_protocols(protocols_request r) {
  if (r.repeat == 0) r.repeat = r.quick ? 1 : 3;  // runs are long
  std::vector<std::string> none;
  if (!prepare(r, none)) return status_usage;
  std::vector<std::string> names;
  for (const auto& a : compared_apps()) names.push_back(a.program);
  if (const auto missing = programs_missing(names, false); !missing.empty()) {
    complain(missing);
    return status_failed;
  }
  const selection wanted(r.only, protocols_requirements());
  auto all = new_report("protocols", r, wanted.judged());
  all.fabrics.push_back({"all", "all"});
  const bool complete = measure(wanted, r, all);
  print_heading(all);
  std::printf("%s\n", ratios_text(all).c_str());
  for (const auto& s : all_surroundings)
    std::printf("%s%s%s", table_text(all, s, "seconds", "", 1).c_str(), table_text(all, s, "thousands of messages", ".messages", 1e-3).c_str(),
                table_text(all, s, "megabytes", ".bytes", 1e-6).c_str());
  for (const auto& note : all.notes) std::printf("%s\n", note.c_str());
  write_results(r, all);
  return complete ? 0 : status_failed;
}

}  // namespace

void add_bench_protocols(CLI::App& bench, int& exit_status) {
  auto* protocols = bench.add_subcommand("protocols", "The programs of apps/ on every protocol: time, messages and bytes, on this host");
  const auto r = std::make_shared<protocols_request>();
  add_options(*protocols, *r);
  protocols->get_option("--repeat")->description("Samples of each measurement; default: 3, with --quick 1");
  add_only(*protocols, *r, protocols_requirements());
  protocols->add_option("--minutes", r->minutes, "Stop after this long, and report what there is; default: 60")
      ->type_name("COUNT")
      ->check(CLI::Range(1, 1000));
  protocols->callback([=, &exit_status] { exit_status = bench_protocols(*r); });
}

}  // namespace weft::cli
