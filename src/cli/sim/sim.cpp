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
#include "cli/sim/calibration.h"
#include "cli/sim/experiment.h"
#include "cli/sim/sweep.h"
#include "sim/networks.h"
#include "sim/parameters.h"

namespace weft::cli {

namespace {

using namespace simulator;

struct sim_request {
  std::map<std::string, std::string> options;  // each may have several values; empty: not given
  std::string paper;
  bool calibrate = false;
  request rest;
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

int one(const simulation& s, const request& r) {
  const outcome o = run(s);
  if (o.report.is_null()) return o.exit_status != 0 ? o.exit_status : status_failed;
  tell(o.report);
  write_file(r.json, o.report.dump(1) + "\n");
  write_file(r.html, page_of(s.words[0], {s}, {o}));
  return 0;
}

int sweep(const std::vector<simulation>& all, const request& r) {
  const auto outcomes = run_all(all, r.how);
  tell_table(all, outcomes);
  auto list = nlohmann::json::array();
  for (const auto& o : outcomes) list.push_back(o.report);
  write_file(r.json, list.dump(1) + "\n");
  write_file(r.html, page_of(all[0].words[0], all, outcomes));
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

// Numbers that all machines of a paper's experiments are to have. They notice themselves if one is theirs to set.
setting_map numbers_of(const sim_request& r) {
  setting_map all;
  for (const auto& [name, value] : r.options) {
    if (value.empty()) continue;
    if (name == "network") misused("--network sets what the paper's experiments set themselves");
    if (value.find(',') != std::string::npos) misused("--" + name + ": a paper's experiments take one value of it");
    all[name] = value;
  }
  return all;
}

unsigned nodes_of(const sim_request& r) {
  const std::string text = with_usual(r.options).at("processors");
  const auto nodes = base::parse_number(text);
  if (!nodes || *nodes < 2 || *nodes > 64)
    throw error(errc::invalid_argument, "--calibrate compares jobs of 2 to 64 nodes, not of " + text);
  return static_cast<unsigned>(*nodes);
}

int simulate(sim_request r, std::vector<std::string> words, const std::vector<std::string>& after_dashes) {
  words.insert(words.end(), after_dashes.begin(), after_dashes.end());
  if (!words.empty() && words[0].starts_with("-")) misused("there is no option '" + words[0] + "'");
  if (r.calibrate) return calibrate({nodes_of(r), r.rest.quick, r.rest.json});
  if (!r.paper.empty()) {
    if (!words.empty()) misused("--paper simulates its own programs, not " + words[0]);
    r.rest.machine = numbers_of(r);
    if (r.rest.programs.empty()) r.rest.programs = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    if (r.rest.guessed && r.paper != "cashmere") misused("--guessed is for --paper cashmere");
    if (r.rest.forms && r.paper != "cashmere") misused("--forms is for --paper cashmere");
    if (r.rest.forms) return cashmere_forms(r.rest);
    if (r.paper == "cashmere") return cashmere_paper(r.rest);
    if (r.paper == "shrimp") return shrimp_paper(r.rest);
    misused("there is no paper '" + r.paper + "'; choose cashmere or shrimp");
  }
  if (words.empty()) misused("weft sim needs a program");
  const auto all = combinations(with_usual(r.options), words);
  check(all);
  return all.size() == 1 && r.rest.how.keep.empty() ? one(all[0], r.rest) : sweep(all, r.rest);
}

void add_machine(CLI::App& command, sim_request& r) {
  const sim::parameters usual;
  for (const auto& d : sim::parameters::all())
    command
        .add_option(std::string("--") + d.name, r.options[d.name],
                    base::format("%s, in %s (%s); default: %llu", d.what, d.unit, d.source,
                                 static_cast<unsigned long long>(usual.*d.value)))
        ->type_name("N")
        ->group("The machine");
  std::string known;
  for (const auto& n : sim::networks()) known += std::string(known.empty() ? "" : "; ") + n.name + ": " + n.what;
  command
      .add_option("--network", r.options["network"],
                  "A network of today and a node of today (" + known + "); instead of the paper's")
      ->type_name("NAME")
      ->group("The machine");
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
  command->add_option("--json", r->rest.json, "Write the report to a file, too")->type_name("FILE");
  command->add_option("--html", r->rest.html, "Write a page with charts to a file")->type_name("FILE");
  auto* const paper = command->add_option(
      "--paper", r->paper,
      "Simulate a paper's experiments with the programs beside weft: cashmere or shrimp. Numbers of the machine "
      "that are given besides are those of all machines, if the experiments do not set them");
  paper->type_name("NAME");
  command->add_flag("--calibrate", r->calibrate,
                    "Measure this host, and compare what the simulator predicts for programs with what they do here, on -p nodes");
  command->add_flag("--quick", r->rest.quick, "With --paper or --calibrate: small programs on few processors");
  command->add_option("--programs", r->rest.programs, "With --paper: where the simulated programs are")
      ->type_name("DIRECTORY")
      ->needs(paper);
  auto* const guessed = command->add_flag(
      "--guessed", r->rest.guessed,
      "With --paper cashmere: its programs as readers guessed them who did not know its results (docs/cashmere-programs.md)");
  guessed->needs(paper);
  auto* const instead = command->add_option("--instead", r->rest.instead,
                                            "With --paper: a program with these arguments instead of the usual ones, to see what a "
                                            "table or a claim owes to them; may be given for "
                                            "several");
  instead->type_name("'PROGRAM ARGUMENTS'")->allow_extra_args(false)->needs(paper);
  command
      ->add_flag("--forms", r->rest.forms,
                 "With --paper cashmere: every form of its programs that we know, and what its table and claims owe to each and "
                 "come to with all "
                 "combinations")
      ->needs(paper)
      ->excludes(guessed)
      ->excludes(instead);
  command->add_option("-j,--jobs", r->rest.how.at_once, "Simulations at a time; 0: as many as there are cores")->type_name("COUNT");
  command->add_option("--keep", r->rest.how.keep, "Keep reports in a directory, and take those that are there")
      ->type_name("DIRECTORY");
  add_machine(*command, *r);
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
      "  weft sim --paper cashmere --keep kept --forms\n"
      "  weft sim --paper cashmere --keep kept --instead 'sor --size 2048 --steps 10'\n"
      "  weft sim --paper cashmere --keep kept --cache-ways 2\n"
      "  weft sim --calibrate -p 2 --json calibration.json");
  command->callback([=, &exit_status, &after_dashes] { exit_status = simulate(*r, command->remaining(), after_dashes); });
}

void put_options_first(const CLI::App& sim, std::vector<std::string>& words) {
  if (words.empty() || words[0].starts_with("-")) return;
  std::size_t end = 1;
  while (end < words.size() && words[end].starts_with("-")) {
    const auto equals = words[end].find('=');
    const CLI::Option* const option = sim.get_option_no_throw(words[end].substr(0, equals));
    if (!option) break;
    const std::size_t takes = equals == std::string::npos && option->get_items_expected_max() > 0 ? 2 : 1;
    if (end + takes > words.size()) throw CLI::ParseError(words[end] + " needs a value", CLI::ExitCodes::ArgumentMismatch);
    end += takes;
  }
  std::rotate(words.begin(), words.begin() + 1, words.begin() + static_cast<std::ptrdiff_t>(end));
}

}  // namespace weft::cli
