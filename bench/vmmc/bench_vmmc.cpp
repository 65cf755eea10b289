// `weft bench vmmc`: the communication layer, measured as the papers did.
#include <cstdio>
#include <memory>

#include "bench/harness/bench_command.h"
#include "bench/harness/fabric_jobs.h"
#include "bench/harness/plots.h"
#include "bench/vmmc/vmmc_report.h"
#include "terminal/complain.h"

namespace weft::bench {
namespace {

constexpr unsigned crowds[] = {1, 2, 4};  // senders
constexpr unsigned ways = 4;              // of telling the consumer

// Fills the report; whether everything could be measured.
bool measure(const std::vector<std::string>& fabrics, const settings& how, report& into) {
  double total = 0;
  for (const auto& f : fabrics)
    total += static_cast<double>(samples_in(make_schedule(suite::vmmc, f), how)) +
             static_cast<double>(std::size(crowds)) * ways * how.repeat;
  collector all(into, total);
  auto take = [&](const job_request& r) { all.take(measure_in_job(r, [&](const std::string& what) { all.advance(1, what); })); };
  for (const auto& f : fabrics) {
    take({f, "", "", suite::vmmc, how});
    for (const unsigned senders : crowds) take({f, "", "", suite::senders, how, senders + 1});
  }
  return all.complete();
}

int bench_vmmc(const bench_request& r) {
  std::vector<std::string> fabrics;
  if (!prepare(r, fabrics)) return status_usage;
  auto all = new_report("vmmc", r, vmmc_requirements());
  for (const auto& f : fabrics) all.fabrics.push_back({f, "weft " + f});
  const bool complete = measure(fabrics, settings_of(r), all);
  print_heading(all);
  std::printf("%s\n%s", ratios_text(all).c_str(), vmmc_text(all).c_str());
  for (const auto& note : all.notes) std::printf("%s\n", note.c_str());
  write_results(r, all);
  if (!r.plots.empty()) write_vmmc_plots(all, r.plots);
  return complete ? 0 : status_failed;
}

}  // namespace

void add_bench_vmmc(CLI::App& bench, int& exit_status) {
  auto* vmmc =
      bench.add_subcommand("vmmc", "Updates, remote queues and active messages, as SHRIMP, Telegraphos and StarT-JR measured them");
  const auto r = std::make_shared<bench_request>();
  r->fabrics = "shm,udp";
  add_fabric_options(*vmmc, *r);
  vmmc->callback([=, &exit_status] { exit_status = bench_vmmc(*r); });
}

}  // namespace weft::bench
