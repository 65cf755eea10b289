// `weft bench prediction`, also known as `weft sim --calibrate`: the model beside reality. Measures what things cost on this host, then runs
// programs here and in the simulator, and compares what was counted and how long it took.
//
// Programs whose references do not depend on who comes first, on lrc, which counts nothing that does: every count must be equal.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/text.h"
#include "bench/harness/bench_command.h"
#include "bench/harness/fabric_jobs.h"
#include "bench/harness/text_table.h"
#include "bench/programs/programs.h"
#include "cli/sim/simulation.h"
#include "terminal/companion.h"
#include "terminal/write_file.h"

namespace weft::bench {

namespace {

using base::format;
using simulator::simulation;
using terminal::status_failed;
using setting_map = std::map<std::string, std::string>;

constexpr const char* protocol = "lrc";
constexpr const char* fabric = "udp";
constexpr const char* engine = "mprotect";  // takes a fault for every first write, as the simulated machine does

struct program {
  std::string name;
  std::vector<std::string> arguments, quick;
};

const std::vector<program> compared = {
    {"sor", {"--size", "1024", "--steps", "10"}, {"--size", "256", "--steps", "3"}},
    {"lu", {"--size", "512"}, {"--size", "128"}},
    {"fft", {"--log-size", "17"}, {"--log-size", "10"}},
};

struct prediction_request {
  unsigned nodes = 2;
  bool quick = false;  // small programs, and costs measured in a hurry
  std::string json;
};

// --- what things cost here ----------------------------------------------------------------------------------------------------------

// A parameter of the simulated machine, as it was measured.
struct measured_cost {
  const char* parameter;
  double value;
  const char* unit;  // ns, or what the parameter has
  std::string from;
};

measurements measured(const job_request& r) {
  return measure_in_job(r, [](const std::string&) {}).or_throw();
}

// Half of a round trip is the network and the software at both ends. A home that computes answers later than one that waits: that is
// what the message took to be noticed.
std::vector<measured_cost> costs_of_host(bool quick) {
  settings how;
  how.quick = quick;
  if (quick)
    how.repeat = 1, how.batches = 5, how.sample = 5 * base::millisecond;
  else
    how.repeat = 3;
  const auto bare =
      measured({"shm", "", "", suite::memory, how, 2, "cashmere", "fault_mprotect,fault_mprotect_in_order,page_copies"});
  const auto wire = measured({fabric, "", "", suite::everything, how, 2, "", "round_trip,send_bursts,held_sends,put_stream"});
  const auto homes = measured({fabric, "", "", suite::memory, how, 2, "hlrc", "idle_home,busy_home"});
  constexpr std::size_t word = 8, block = 64 * 1024;
  const double half_trip = value_of(wire, fabric, "round_trip", word) / 2;
  const double sending = value_of(wire, fabric, "send_overhead", word),
               receiving = value_of(wire, fabric, "receive_overhead", word);
  const double software = std::min((sending + receiving) / 2, half_trip / 2);
  const double noticed = value_of(homes, "hlrc.udp", "busy_home") - value_of(homes, "hlrc.udp", "idle_home");
  return {
      {"page-fault", value_of(bare, "bare", "fault_mprotect"), "ns", "a fault that mprotect resolves"},
      {"page-fault-beside", value_of(bare, "bare", "fault_mprotect_in_order"), "ns",
       "the same behind a page that has been resolved so"},
      {"messaging", software, "ns", "the mean of sending and of receiving a word"},
      {"latency", half_trip - 2 * software, "ns", "half of a word's round trip, without that at both ends"},
      {"interrupt", std::max(0.0, noticed), "ns", "what a page takes longer from a home that computes than from one that waits"},
      {"bandwidth", 1000 * value_of(wire, fabric, "put_bandwidth", block), "MB/s", "puts of 64 KiB"},
      {"page copy", value_of(bare, "bare", "page_copy"), "ns", "a page that the other side wrote: what memory gives"},
  };
}

double value_of(const std::vector<measured_cost>& costs, const std::string& parameter) {
  return std::find_if(costs.begin(), costs.end(), [&](const measured_cost& c) { return parameter == c.parameter; })->value;
}

// --- a program here and there -------------------------------------------------------------------------------------------------------

// With a clock whose cycles are instructions: see clock_for.
setting_map machine_of(const std::vector<measured_cost>& costs, unsigned nodes, double megahertz) {
  const auto whole = [](double v) { return std::to_string(std::llround(std::max(v, 1.0))); };
  setting_map s{{"processors", std::to_string(nodes)},
                {"protocol", protocol},
                {"megahertz", whole(megahertz)},
                // As the runtime does it.
                {"barrier-fan-in", "4"},
                {"managers-in-turn", "0"},
                {"told-once", "0"},
                {"fetch-ahead", "16"},
                {"diff-grain", "1"},
                // A twin or a diff takes what going through the page takes.
                {"twinning", "0"},
                {"diffing", "0"},
                {"memory-setup", "0"},
                {"tlb-fill", "0"},
                {"cache-bytes", "1048576"},
                {"cache-ways", "16"}};
  for (const auto& c : costs)
    if (c.unit == std::string("ns")) s[c.parameter] = whole(c.value * megahertz / 1000);
  s["bandwidth"] = whole(value_of(costs, "bandwidth"));
  s.erase("page copy");
  s["memory-bandwidth"] = whole(4096 / (value_of(costs, "page copy") * megahertz / 1000));
  return s;
}

nlohmann::json simulated(const program& p, const std::vector<std::string>& arguments, const setting_map& machine) {
  simulation s;
  s.name = p.name;
  s.words = {terminal::beside_this_program(p.name + "_sim")};
  s.words.insert(s.words.end(), arguments.begin(), arguments.end());
  s.settings = machine;
  simulator::check({s});
  return simulator::run_all({s}, {.at_once = 1, .keep = ""})[0].report;
}

counted_run run_here(const program& p, const std::vector<std::string>& arguments, unsigned nodes) {
  program_run r;
  r.name = p.name;
  r.arguments = arguments;
  r.workers = nodes;
  r.protocol = protocol;
  r.fabric = fabric;
  r.engine = engine;
  return run_counted(r).or_throw();
}

// A simulated instruction takes a cycle. So the clock is the one with which the program takes on one simulated node what it takes on one
// node here.
double clock_for(const program& p, const std::vector<std::string>& arguments, const std::vector<measured_cost>& costs,
                 double seconds_here) {
  constexpr double nominal = 1000;
  const auto alone = simulated(p, arguments, machine_of(costs, 1, nominal));
  return std::max(1.0, alone.at("cycles").get<double>() / seconds_here / 1e6);
}

struct comparison {
  std::string program;
  std::map<std::string, std::uint64_t> predicted, measured;
  double predicted_seconds, measured_seconds, megahertz;

  bool equal() const { return predicted == measured; }
  double error() const { return predicted_seconds / measured_seconds - 1; }
};

comparison compare(const program& p, const std::vector<measured_cost>& costs, const prediction_request& r) {
  const auto& arguments = r.quick ? p.quick : p.arguments;
  const auto alone = run_here(p, arguments, 1), here = run_here(p, arguments, r.nodes);
  comparison c{p.name, {}, {}, 0, here.seconds, clock_for(p, arguments, costs, alone.seconds)};
  const auto report = simulated(p, arguments, machine_of(costs, r.nodes, c.megahertz));
  for (const auto& [name, count] : report.at("counts_of_all").items()) {
    c.predicted[name] = count.get<std::uint64_t>();
    c.measured[name] = here.counts.at(name);
  }
  c.predicted_seconds = report.at("seconds").get<double>();
  return c;
}

// --- telling ------------------------------------------------------------------------------------------------------------------------

std::string text_of(const std::vector<measured_cost>& costs) {
  text_table t({"this host", "", "", "which is"}, 2);
  for (const auto& c : costs) t.row({c.parameter, short_number(c.value), c.unit, c.from});
  return t.text();
}

std::string text_of(const std::vector<comparison>& all, unsigned nodes) {
  text_table t({format("%s on %u nodes over %s", protocol, nodes, fabric), "predicted", "measured", ""}, 3);
  for (const auto& c : all) {
    if (&c != &all.front()) t.rule();
    for (const auto& [name, count] : c.predicted) {
      const auto is = c.measured.at(name);
      t.row({c.program + ", " + name, std::to_string(count), std::to_string(is), is == count ? "equal" : "DIFFERENT"});
    }
    t.row({c.program + ", seconds", format("%.6f", c.predicted_seconds), format("%.6f", c.measured_seconds),
           format("%+.0f%%", 100 * c.error())});
  }
  return t.text();
}

nlohmann::json json_of(const std::vector<measured_cost>& costs, const std::vector<comparison>& all, const prediction_request& r) {
  nlohmann::json host, programs;
  for (const auto& c : costs) host[c.parameter] = {{"value", c.value}, {"unit", c.unit}, {"from", c.from}};
  double worst = 0;
  std::size_t equal = 0;
  for (const auto& c : all) {
    programs[c.program] = {
        {"predicted", c.predicted},
        {"measured", c.measured},
        {"counts_equal", c.equal()},
        {"seconds", {{"predicted", c.predicted_seconds}, {"measured", c.measured_seconds}, {"error", c.error()}}},
        {"megahertz", c.megahertz}};
    worst = std::max(worst, std::abs(c.error()));
    equal += c.equal();
  }
  return {{"calibration",
           {{"nodes", r.nodes},
            {"protocol", protocol},
            {"fabric", fabric},
            {"quick", r.quick},
            {"host", host},
            {"programs", programs},
            {"programs_with_equal_counts", equal},
            {"programs_compared", all.size()},
            {"worst_error_of_time", worst}}}};
}

// The exit status: 0 when all counts are equal.
int calibrate(const prediction_request& r) {
  std::vector<std::string> names;
  for (const auto& p : compared) names.push_back(p.name);
  if (const auto missing = programs_missing(names, false); !missing.empty()) throw error(errc::invalid_argument, missing);
  const auto costs = costs_of_host(r.quick);
  std::printf("%s\n", text_of(costs).c_str());
  std::vector<comparison> all;
  for (const auto& p : compared) all.push_back(compare(p, costs, r));
  std::printf("%s", text_of(all, r.nodes).c_str());
  terminal::write_file(r.json, json_of(costs, all, r).dump(1) + "\n");
  const bool equal = std::all_of(all.begin(), all.end(), [](const comparison& c) { return c.equal(); });
  return equal ? 0 : status_failed;
}

}  // namespace

void add_bench_prediction(CLI::App& bench, int& exit_status) {
  auto* command = bench.add_subcommand(
      "prediction", "What the simulator predicts for programs on a model of this host beside what they do here: counts and time");
  const auto r = std::make_shared<prediction_request>();
  command->add_option("-p,--processors", r->nodes, "Nodes of a job")
      ->type_name("COUNT")
      ->check(CLI::Range(2, 64))
      ->capture_default_str();
  command->add_flag("--quick", r->quick, "Small programs, and costs measured in a hurry: for trying out");
  command->add_option("--json", r->json, "Write the results to a file, too")->type_name("FILE");
  command->callback([=, &exit_status] { exit_status = calibrate(*r); });
}

}  // namespace weft::bench
