// The one program `weft`. Every subcommand registers itself with one line here; see commands.h.
#include <optional>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "join/version.h"
#include "terminal/companion.h"

namespace weft::cli {
namespace {

// Programs of their own, which understand the rest of the command line by themselves. Here they are only listed.
void add_bench(CLI::App& weft) {
  weft.add_subcommand("bench", "Measure weft beside the bare machine and its peers (the program weft-bench)");
}

struct program_call {
  std::string name;
  std::vector<std::string> arguments;
};

// The program that the words are for, if it is not this one.
std::optional<program_call> other_program(std::vector<std::string> words) {
  if (words.empty()) return std::nullopt;
  const std::vector<std::string> rest(words.begin() + 1, words.end());
  if (words[0] == "bench") return program_call{"weft-bench", rest};
  if (words[0] != "sim") return std::nullopt;
  for (auto w = rest.begin(); w != rest.end() && *w != "--"; ++w) {
    if (w->starts_with("--paper")) return program_call{"weft-papers", rest};
    if (*w != "--calibrate") continue;
    std::vector<std::string> arguments(rest.begin(), w);
    arguments.insert(arguments.begin(), "prediction");
    arguments.insert(arguments.end(), w + 1, rest.end());
    return program_call{"weft-bench", arguments};
  }
  return std::nullopt;
}

int main(int argc, char** argv) {
  int exit_status = 0;
  if (const auto other = other_program({argv + 1, argv + argc})) return terminal::become(other->name, other->arguments);
  terminal::command_line line(argc, argv);
  CLI::App weft("One memory for the programs on many machines.", "weft");
  weft.set_version_flag("--version", std::string("weft ") + runtime::version);
  weft.require_subcommand(1);
  weft.footer(
      "Examples:\n"
      "  weft run -n 4 ./prog        run a program as four nodes on this host\n"
      "  weft sim -p 64 ./prog_sim   run a program on a simulated machine of 64 processors\n"
      "  weft top                    look at the job that is running\n"
      "  weft report stats.json      see where its time went, as an HTML page\n"
      "  weft doctor                 see what this machine offers and what is missing\n"
      "  weft bench fabric           see how fast the fabrics are here");
  add_run(weft, exit_status, line.after_dashes);
  add_sim(weft, exit_status, line.after_dashes);
  add_doctor(weft, exit_status);
  add_report(weft, exit_status);
  add_top(weft, exit_status);
  add_bench(weft);
  add_agent(weft, exit_status);
  return terminal::run(weft, "weft", line.words, exit_status, [&](std::vector<std::string>& words) {
    if (!words.empty() && words[0] == "sim") put_options_first(*weft.get_subcommand("sim"), words);
  });
}

}  // namespace
}  // namespace weft::cli

int main(int argc, char** argv) {
  return weft::cli::main(argc, argv);
}
