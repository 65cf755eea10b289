// `weft bench memory`: misses, releases, barriers and locks of shared memory, beside the bare machine and Open MPI.
#include <algorithm>
#include <cstdio>
#include <memory>

#include "bench/harness/bench_command.h"
#include "bench/harness/fabric_jobs.h"
#include "bench/memory/memory_report.h"
#include "bench/peers/peers.h"
#include "bench/programs/programs.h"
#include "bench/harness/selection.h"
#include "cli/commands.h"

namespace weft::bench {
namespace {

struct memory_system {
  const char *protocol, *fabric;
  std::string name() const { return system_name(protocol, fabric); }
};

constexpr memory_system systems[] = {
    {"cashmere", "shm"}, {"cashmere:copied", "shm"}, {"hlrc", "udp"}, {"hlrc", "shm"}, {"direct", "shm"}};
constexpr const char* ours = "cashmere.shm";
constexpr unsigned many_contenders = 4;
constexpr const char* local_pair = "local_lock_pair";

settings shorter(settings how) {
  if (!how.quick) how.batches = 10;  // 4096 pages take longer than 2 ms
  return how;
}

schedule wanted_of(const selection& wanted, const std::string& system) {
  auto s = make_schedule(suite::memory, system);
  keep(s, [&](const item& i) {
    return std::any_of(i.outputs.begin(), i.outputs.end(), [&](const output& o) { return wanted.wants(i.owner, o.name); });
  });
  return s;
}

// All of a run, one part after the other. Parts that are compared across jobs take turns, a sample each.
class memory_session {
 public:
  memory_session(const selection& s, const settings& how, report& into) : wanted_(s), how_(how), all_(into, total()) {}

  bool run() {
    for (const auto& s : systems) measure(s);
    if (wanted_.wants(ours, "barrier")) measure_barrier();
    if (wanted_.wants("uffd", "radix")) measure_engines();
    if (wanted_.wants(ours, local_pair)) measure_local_locks();
    if (wanted_.everything()) take({"shm", "", "", suite::contenders, how_, many_contenders, "cashmere"});
    return all_.complete();
  }

 private:
  double total() const {
    double samples = 0;
    for (const auto& s : systems) samples += static_cast<double>(samples_in(wanted_of(wanted_, s.name()), how_));
    for (const bool part : {wanted_.wants(ours, "barrier"), wanted_.wants("uffd", "radix")})
      samples += part ? 2.0 * how_.repeat : 0;
    if (wanted_.wants(ours, local_pair)) samples += static_cast<double>(std::size(systems)) * how_.repeat;
    return samples + (wanted_.everything() ? how_.repeat : 0);
  }

  void take(const job_request& r) {
    all_.take(measure_in_job(r, [&](const std::string& what) { all_.advance(1, what); }));
  }

  void measure(const memory_system& s) {
    std::string operations;
    for (const auto& g : wanted_of(wanted_, s.name()))
      for (const auto& i : g) operations += (operations.empty() ? "" : ",") + i.operation;
    if (!operations.empty()) take({s.fabric, "", "", suite::memory, how_, 2, s.protocol, operations});
  }

  void measure_barrier() {
    settings one = how_;
    one.repeat = 1;
    const auto missing = open_mpi_missing();
    if (!missing.empty()) all_.note("Open MPI: " + missing);
    for (unsigned i = 0; i < how_.repeat; ++i) {
      take({"shm", "", "", suite::barrier, one, 2, "cashmere"});
      all_.advance(1, "Open MPI's barrier");
      if (missing.empty()) all_.take(measure_open_mpi("mpi", false, one, "barrier"));
    }
  }

  void measure_engines() {
    if (const auto missing = programs_missing({"radix"}); !missing.empty()) return all_.note("uffd_over_mprotect: " + missing);
    for (unsigned i = 0; i < how_.repeat; ++i)
      for (const char* engine : {"uffd", "mprotect"}) {
        all_.advance(1, std::string("radix with ") + engine);
        const auto seconds =
            run_program({"radix", {"--keys", how_.quick ? "16384" : "2097152"}, 2, "cashmere:copied", "shm", engine});
        if (seconds)
          all_.add(engine, "radix", *seconds);
        else
          all_.fail(seconds.sentence());
      }
  }

  // By a program in the ANL macros, with more nodes than cores.
  void measure_local_locks() {
    if (const auto missing = programs_missing({"radix"}); !missing.empty()) return all_.note("local_lock_pair_ns: " + missing);
    for (unsigned i = 0; i < how_.repeat; ++i)
      for (const auto& s : systems) {
        all_.advance(1, "locks that nobody else wants on " + s.name());
        const std::string workers = std::to_string(many_contenders), pairs = how_.quick ? "10000" : "1000000";
        const auto seconds = run_program({"parmacs_locks", {workers, pairs}, many_contenders, s.protocol, s.fabric});
        if (seconds)
          all_.add(s.name(), local_pair, *seconds);
        else
          all_.fail(seconds.sentence());
      }
  }

  const selection& wanted_;
  const settings how_;
  collector all_;
};

int bench_memory(const bench_request& r) {
  std::vector<std::string> none;
  if (!prepare(r, none)) return status_usage;
  const selection wanted(r.only, memory_requirements());
  auto all = new_report("memory", r, wanted.judged());
  for (const auto& s : systems) all.fabrics.push_back({s.name(), std::string(s.protocol) + " on " + s.fabric});
  const bool complete = memory_session(wanted, shorter(settings_of(r)), all).run();
  print_heading(all);
  std::printf("%s\n%s", ratios_text(all).c_str(), memory_text(all).c_str());
  for (const auto& note : all.notes) std::printf("%s\n", note.c_str());
  write_results(r, all);
  return complete ? 0 : status_failed;
}

}  // namespace

void add_bench_memory(CLI::App& bench, int& exit_status) {
  auto* memory = bench.add_subcommand("memory", "Page misses, releases, barriers and locks of shared memory, on this host");
  const auto r = std::make_shared<bench_request>();
  add_options(*memory, *r);
  add_only(*memory, *r, memory_requirements());
  memory->callback([=, &exit_status] { exit_status = bench_memory(*r); });
}

}  // namespace weft::bench
