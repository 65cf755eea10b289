// weft-papers, which `weft sim --paper` becomes: a paper's experiments in the simulator, beside what the paper says.
#include <memory>

#include "cli/sim/machine_options.h"
#include "join/version.h"
#include "research/experiment.h"
#include "terminal/command_line.h"
#include "terminal/companion.h"

namespace weft::research {
namespace {

[[noreturn]] void misused(const std::string& how) {
  throw CLI::ParseError(how, CLI::ExitCodes::InvalidError);
}

struct paper_request : request {
  std::string paper;
  std::map<std::string, std::string> options;
};

// Numbers that all machines of a paper's experiments are to have. They notice themselves if one is theirs to set.
setting_map numbers_of(const paper_request& r) {
  setting_map all;
  for (const auto& [name, value] : r.options) {
    if (value.empty()) continue;
    if (name == "network") misused("--network sets what the paper's experiments set themselves");
    if (value.find(',') != std::string::npos) misused("--" + name + ": a paper's experiments take one value of it");
    all[name] = value;
  }
  return all;
}

int repeat_experiments(paper_request& r, const std::vector<std::string>& others) {
  if (!others.empty()) misused("--paper simulates its own programs, not " + others[0]);
  r.machine = numbers_of(r);
  if (r.programs.empty()) r.programs = terminal::beside_this_program("");
  if (r.guessed && r.paper != "cashmere") misused("--guessed is for --paper cashmere");
  if (r.forms && r.paper != "cashmere") misused("--forms is for --paper cashmere");
  if (r.forms) return cashmere_forms(r);
  if (r.paper == "cashmere") return cashmere_paper(r);
  if (r.paper == "shrimp") return shrimp_paper(r);
  misused("there is no paper '" + r.paper + "'; choose cashmere or shrimp");
}

void add_options(CLI::App& papers, paper_request& r) {
  papers.add_option("--paper", r.paper, "Whose experiments: cashmere or shrimp")->type_name("NAME")->required();
  papers.add_option("--json", r.json, "Write the report to a file, too")->type_name("FILE");
  papers.add_option("--html", r.html, "Write a page with charts to a file")->type_name("FILE");
  papers.add_flag("--quick", r.quick, "Small programs on few processors");
  papers.add_option("--programs", r.programs, "Where the simulated programs are")->type_name("DIRECTORY");
  auto* const guessed =
      papers.add_flag("--guessed", r.guessed,
                      "cashmere: its programs as they were guessed before their results were seen (research/cashmere-programs.md)");
  auto* const instead =
      papers.add_option("--instead", r.instead,
                        "A program with these arguments instead of the usual ones, to see what a table or a claim "
                        "owes to them; may be given for several");
  instead->type_name("'PROGRAM ARGUMENTS'")->allow_extra_args(false);
  papers
      .add_flag("--forms", r.forms,
                "cashmere: every form of its programs that we know, and what its table and claims owe to each and come to with all "
                "combinations")
      ->excludes(guessed)
      ->excludes(instead);
  papers.add_option("-j,--jobs", r.how.at_once, "Simulations at a time; 0: as many as there are cores")->type_name("COUNT");
  papers.add_option("--keep", r.how.keep, "Keep reports in a directory, and take those that are there")->type_name("DIRECTORY");
  simulator::add_machine_options(papers, r.options);
  // The experiments set these, and say so.
  for (const char* name : {"processors", "protocol", "interface"})
    papers.add_option(name == std::string("processors") ? "-p,--processors" : std::string("--") + name, r.options[name])->group("");
  papers.allow_extras();
}

int main(int argc, char** argv) {
  int exit_status = 0;
  const terminal::command_line line(argc, argv);
  CLI::App papers(
      "Repeats a paper's experiments in the simulator, with the programs beside this one. Numbers of the machine that are given "
      "besides are those of all machines, if the experiments do not set them.",
      "weft sim");
  papers.set_version_flag("--version", std::string("weft ") + runtime::version);
  paper_request r;
  add_options(papers, r);
  papers.callback([&] { exit_status = repeat_experiments(r, papers.remaining()); });
  return terminal::run(papers, "weft sim --paper NAME", line.words, exit_status);
}

}  // namespace
}  // namespace weft::research

int main(int argc, char** argv) {
  return weft::research::main(argc, argv);
}
