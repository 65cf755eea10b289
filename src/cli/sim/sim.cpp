// `weft sim`: a program on a simulated machine, a sweep over machines, or a paper's experiments.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/sim/machine_options.h"
#include "cli/sim/sweep.h"
#include "terminal/write_file.h"

namespace weft::cli {

namespace {

using namespace simulator;

struct sim_request {
  std::map<std::string, std::string> options;  // each may have several values; empty: not given
  std::string paper;
  bool calibrate = false;
  ways how;
  std::string html, json;
};

void tell(const nlohmann::json& report) {
  const auto& parts = report["breakdown"];
  const double total = std::max(1.0, parts["total"].get<double>());
  std::printf("%u processors, %s, interface %s: %llu cycles, %.6f s\n", report["processors"].get<unsigned>(),
              report["protocol"].get<std::string>().c_str(), report["interface"].get<std::string>().c_str(),
              report["cycles"].get<unsigned long long>(), report["seconds"].get<double>());
  for (const char* name : parts_of_time) std::printf("  %-16s %5.1f%%\n", name, 100 * parts[name].get<double>() / total);
  std::printf("%llu references, %llu misses, %llu messages, %llu bytes; %.1f million references a second of processor time\n",
              report["references"].get<unsigned long long>(), report["misses"].get<unsigned long long>(),
              report["messages"].get<unsigned long long>(), report["bytes"].get<unsigned long long>(),
              report["references_per_second"].get<double>() / 1e6);
}

void tell_table(const std::vector<simulation>& all, const std::vector<outcome>& outcomes) {
  std::printf("%-44s %14s %12s", "", "cycles", "seconds");
  for (const char* part : parts_of_time) std::printf(" %6.6s", part);
  std::printf("\n");
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto& r = outcomes[i].report;
    std::printf("%-44s %14llu %12.6f", all[i].name.c_str(), r["cycles"].get<unsigned long long>(), r["seconds"].get<double>());
    for (const char* part : parts_of_time)
      std::printf(" %5.1f%%", 100 * r["breakdown"][part].get<double>() / std::max(1.0, r["breakdown"]["total"].get<double>()));
    std::printf("\n");
  }
}

int one(const simulation& s, const sim_request& r) {
  const outcome o = simulator::run(s);
  if (o.report.is_null()) return o.exit_status != 0 ? o.exit_status : status_failed;
  tell(o.report);
  terminal::write_file(r.json, o.report.dump(1) + "\n");
  terminal::write_file(r.html, page_of(s.words[0], {s}, {o}));
  return 0;
}

int sweep(const std::vector<simulation>& all, const sim_request& r) {
  const auto outcomes = run_all(all, r.how);
  tell_table(all, outcomes);
  auto list = nlohmann::json::array();
  for (const auto& o : outcomes) list.push_back(o.report);
  terminal::write_file(r.json, list.dump(1) + "\n");
  terminal::write_file(r.html, page_of(all[0].words[0], all, outcomes));
  return 0;
}

constexpr const char* usual_processors = "4";
constexpr const char* usual_protocol = "cashmere";

// What a simulation is of if nobody says otherwise.
std::map<std::string, std::string> with_usual(std::map<std::string, std::string> options) {
  for (const auto& [name, value] : {std::pair{"processors", usual_processors}, std::pair{"protocol", usual_protocol}})
    if (options[name].empty()) options[name] = value;
  return options;
}

[[noreturn]] void misused(const std::string& how) {
  throw CLI::ParseError(how, CLI::ExitCodes::InvalidError);
}

int simulate(sim_request r, std::vector<std::string> words, const std::vector<std::string>& after_dashes) {
  words.insert(words.end(), after_dashes.begin(), after_dashes.end());
  if (!words.empty() && words[0].starts_with("-")) misused("there is no option '" + words[0] + "'");
  if (words.empty()) misused("weft sim needs a program");
  const auto all = combinations(with_usual(r.options), words);
  check(all);
  return all.size() == 1 && r.how.keep.empty() ? one(all[0], r) : sweep(all, r);
}

}  // namespace

void add_sim(CLI::App& weft, int& exit_status, const std::vector<std::string>& after_dashes) {
  auto* command =
      weft.add_subcommand("sim",
                          "Run a program on a simulated machine: weft sim [OPTIONS] PROGRAM [ARGUMENTS...]. An option of the "
                          "machine may have several values, separated by commas: then every combination is simulated");
  const auto r = std::make_shared<sim_request>();
  command->add_option("-p,--processors", r->options["processors"], "How many")->type_name("COUNT")->default_str(usual_processors);
  command->add_option("--protocol", r->options["protocol"], "How shared memory is kept coherent: cashmere, hlrc or lrc")
      ->type_name("NAME")
      ->default_str(usual_protocol);
  command
      ->add_option(
          "--interface", r->options["interface"],
          "The network interface, as in Cashmere 2.3: NHHM, CHHM, NHHN, CHHN, CHSN, NSHM, NSHN or NSSN; none: only messages; "
          "default: NHHM for cashmere, none for the others")
      ->type_name("NAME");
  command->add_option("--json", r->json, "Write the report to a file, too")->type_name("FILE");
  command->add_option("--html", r->html, "Write a page with charts to a file")->type_name("FILE");
  command
      ->add_option("--paper", r->paper,
                   "Repeat a paper's experiments with the programs beside weft: 'weft sim --paper cashmere --help' says more")
      ->type_name("NAME");
  command->add_flag("--calibrate", r->calibrate,
                    "Measure this host, and compare what the simulator predicts for programs with what they do here: 'weft bench "
                    "prediction'");
  command->add_option("-j,--jobs", r->how.at_once, "Simulations at a time; 0: as many as there are cores")->type_name("COUNT");
  command->add_option("--keep", r->how.keep, "Keep reports in a directory, and take those that are there")->type_name("DIRECTORY");
  add_machine_options(*command, r->options);
  command->prefix_command();  // from the program on, everything is the program's
  command->footer(
      "Options may follow the program as well if none comes before it: weft sim PROGRAM -p 64. What begins with the first word "
      "that is none of "
      "them, or comes after --, is the program's.\n\n"
      "Examples:\n"
      "  weft sim -p 64 build/bin/sor_sim --size 1024 --steps 10\n"
      "  weft sim -p 8,16,32,64 --protocol cashmere,lrc --html sor.html build/bin/sor_sim\n"
      "  weft sim -p 64 --latency 500ns,1us,10us build/bin/sor_sim\n"
      "  weft sim --paper cashmere --html cashmere.html\n"
      "  weft sim --calibrate -p 2 --json calibration.json");
  command->callback([=, &exit_status, &after_dashes] { exit_status = simulate(*r, command->remaining(), after_dashes); });
}

void put_options_first(const CLI::App& sim, std::vector<std::string>& words) {
  if (words.size() < 2 || words[1].starts_with("-")) return;
  std::size_t end = 2;
  while (end < words.size() && words[end].starts_with("-")) {
    const auto equals = words[end].find('=');
    const CLI::Option* const option = sim.get_option_no_throw(words[end].substr(0, equals));
    if (!option) break;
    const std::size_t takes = equals == std::string::npos && option->get_items_expected_max() > 0 ? 2 : 1;
    if (end + takes > words.size()) throw CLI::ParseError(words[end] + " needs a value", CLI::ExitCodes::ArgumentMismatch);
    end += takes;
  }
  std::rotate(words.begin() + 1, words.begin() + 2, words.begin() + static_cast<std::ptrdiff_t>(end));
}

}  // namespace weft::cli
