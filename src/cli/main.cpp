// The one program `weft`. Every subcommand registers itself with one line here; see commands.h.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "runtime/version.h"

namespace weft::cli {

void complain(const std::string& sentence) {
  const auto line = "weft: " + sentence + "\n";
  std::fflush(stdout);
  std::fwrite(line.data(), 1, line.size(), stderr);  // one write, so that lines of several processes stay whole
}

namespace {

// CLI11 would go on taking options after "--", and they are the program's.
std::vector<std::string> cut_at_dashes(int& argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--") != 0) continue;
    std::vector<std::string> after(argv + i + 1, argv + argc);
    argc = i;
    return after;
  }
  return {};
}

// As CLI11 wants them: the last one first.
std::vector<std::string> words_of(const CLI::App& weft, int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  if (!words.empty() && words[0] == "sim") {
    std::vector<std::string> rest(words.begin() + 1, words.end());
    put_options_first(*weft.get_subcommand("sim"), rest);
    std::copy(rest.begin(), rest.end(), words.begin() + 1);
  }
  std::reverse(words.begin(), words.end());
  return words;
}

// One sentence about a command line that CLI11 did not understand.
int refuse(const CLI::App& weft, const CLI::ParseError& e, int argc, char** argv) {
  const std::string command = argc > 1 ? argv[1] : "";
  const auto all = weft.get_subcommands([](const CLI::App*) { return true; });
  const bool known = std::any_of(all.begin(), all.end(), [&](const CLI::App* each) { return each->get_name() == command; });
  if (command.empty()) {
    std::fputs(weft.help().c_str(), stderr);
  } else if (command.front() != '-' && !known) {
    complain("there is no command '" + command + "'; 'weft --help' lists them");
  } else {
    complain(std::string(e.what()) + "; see 'weft " + (command.front() == '-' ? "" : command + " ") + "--help'");
  }
  return status_usage;
}

int main(int argc, char** argv) {
  int exit_status = 0;
  const auto after_dashes = cut_at_dashes(argc, argv);
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
  add_run(weft, exit_status, after_dashes);
  add_sim(weft, exit_status, after_dashes);
  add_doctor(weft, exit_status);
  add_report(weft, exit_status);
  add_top(weft, exit_status);
  add_bench(weft, exit_status);
  add_agent(weft, exit_status);
  add_bench_node(weft, exit_status);
  try {
    weft.parse(words_of(weft, argc, argv));
  } catch (const CLI::CallForHelp& e) {
    return weft.exit(e);
  } catch (const CLI::CallForVersion& e) {
    return weft.exit(e);
  } catch (const CLI::ParseError& e) {
    return refuse(weft, e, argc, argv);
  } catch (const std::exception& e) {
    complain(e.what());
    return status_failed;
  }
  return exit_status;
}

}  // namespace
}  // namespace weft::cli

int main(int argc, char** argv) {
  return weft::cli::main(argc, argv);
}
