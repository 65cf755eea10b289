// `weft bench fabric`: the command line, the order of what is measured, and what becomes of it.
#include <cstdio>
#include <memory>

#include "bench/harness/bench_command.h"
#include "bench/harness/fabric_jobs.h"
#include "bench/peers/peers.h"
#include "bench/harness/plots.h"
#include "bench/harness/report.h"
#include "cli/commands.h"

namespace weft::bench {
namespace {

constexpr const char* lossy = "loss=5%";

struct fabric_request : bench_request {
  fabric_request() { fabrics = "shm,udp,ofi"; }
  std::string provider = "tcp;ofi_rxm";
};

// All of a run, fabric by fabric, into a report.
class session {
 public:
  session(const fabric_request& r, std::vector<std::string> fabrics, report& into)
      : request_(r),
        how_(settings_of(r)),
        fabrics_(std::move(fabrics)),
        peers_(r.quick ? std::vector<peer>() : known_peers()),
        report_(into),
        all_(into, total()) {}

  // Whether everything could be measured.
  bool run() {
    for (const auto& f : fabrics_) measure_fabric(f);
    if (measures("udp")) measure_goodput();
    for (const auto& p : peers_) measure_peer(p);
    return all_.complete();
  }

 private:
  bool measures(const std::string& fabric) const { return std::find(fabrics_.begin(), fabrics_.end(), fabric) != fabrics_.end(); }
  std::string provider_of(const std::string& fabric) const { return fabric == "ofi" ? request_.provider : ""; }
  unsigned goodput_rounds() const { return std::min(how_.repeat, 3u); }

  // In samples, which take about equally long.
  double peer_weight(const peer& p) const { return p.seconds * base::second / static_cast<double>(how_.sample); }
  double total() const {
    double all = 0;
    for (const auto& f : fabrics_) all += static_cast<double>(samples_in(make_schedule(suite::everything, f), how_));
    if (measures("udp")) all += 2.0 * how_.repeat;
    for (const auto& p : peers_) all += p.missing.empty() ? peer_weight(p) : 0;
    return all;
  }

  void measure_fabric(const std::string& f) {
    report_.fabrics.push_back({f, f == "ofi" ? "weft ofi, " + request_.provider : "weft " + f});
    all_.take(
        measure_in_job({f, provider_of(f), "", suite::everything, how_}, [&](const std::string& what) { all_.advance(1, what); }));
  }

  // Jobs with and without loss take turns, each a share of the samples.
  void measure_goodput() {
    settings part = how_;
    part.batches = 1;  // a loss is rare: short batches would see none, or nothing else
    if (!how_.quick) part.sample = how_.sample * 5;
    const unsigned rounds = goodput_rounds();
    for (unsigned i = 0; i < rounds; ++i) {
      part.repeat = how_.repeat * (i + 1) / rounds - how_.repeat * i / rounds;
      for (const bool loss : {false, true}) {
        auto m = measure_in_job({"udp", "", loss ? lossy : "", suite::goodput, part},
                                [&](const std::string&) { all_.advance(1, loss ? "udp with 5% loss" : "udp without loss"); });
        if (!m) {
          all_.take(m);
          return;
        }
        measurements renamed;
        for (const auto& [size, each] : *m->find("udp", "goodput"))
          for (const double sample : each.samples)
            renamed.add(loss ? "udp_lossy" : "udp_clean", "goodput", size, each.unit, sample);
        all_.take(renamed);
      }
    }
  }

  void measure_peer(const peer& p) {
    if (!p.missing.empty()) {
      all_.note(p.title + ": " + p.missing);
      return;
    }
    all_.advance(0, p.title);
    all_.take(p.measure(how_));
    all_.advance(peer_weight(p), p.title);
    if (report_.found.has(p.owner)) report_.peers.push_back({p.owner, p.title});
  }

  const fabric_request request_;
  const settings how_;
  const std::vector<std::string> fabrics_;
  const std::vector<peer> peers_;
  report& report_;
  collector all_;
};

void print(const report& r) {
  print_heading(r);
  std::printf("%s\n%s\n%s\n%s", ratios_text(r).c_str(), table_2_text(r).c_str(), table_3_text(r).c_str(), rest_text(r).c_str());
  for (const auto& note : r.notes) std::printf("%s\n", note.c_str());
}

int bench_fabric(const fabric_request& r) {
  std::vector<std::string> fabrics;
  if (!prepare(r, fabrics)) return status_usage;
  auto all = new_report("fabric", r, fabric_requirements());
  if (r.fabrics.find("ofi") != std::string::npos) all.command += " --provider '" + r.provider + "'";
  const bool complete = session(r, fabrics, all).run();
  print(all);
  write_results(r, all);
  if (!r.plots.empty()) write_plots(all, r.plots);
  return complete ? 0 : status_failed;
}

}  // namespace

void add_bench_fabric(CLI::App& bench, int& exit_status) {
  auto* fabric = bench.add_subcommand("fabric", "Latency, bandwidth and rates of the fabrics, on this host");
  const auto r = std::make_shared<fabric_request>();
  add_fabric_options(*fabric, *r);
  fabric->add_option("--provider", r->provider, "The libfabric provider that ofi is measured over; default: " + r->provider)
      ->type_name("NAME");
  fabric->callback([=, &exit_status] { exit_status = bench_fabric(*r); });
}

}  // namespace weft::bench
