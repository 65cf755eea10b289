#include "terminal/command_line.h"

#include <algorithm>
#include <cstdio>

namespace weft::terminal {

command_line::command_line(int argc, char** argv) {
  std::vector<std::string> all(argv + std::min(argc, 1), argv + argc);
  const auto dashes = std::find(all.begin(), all.end(), "--");
  words.assign(all.begin(), dashes);
  if (dashes != all.end()) after_dashes.assign(dashes + 1, all.end());
}

namespace {

int refuse(const CLI::App& program, const std::string& called, const CLI::ParseError& e, const std::string& command) {
  const auto all = program.get_subcommands([](const CLI::App*) { return true; });
  const bool known = std::any_of(all.begin(), all.end(), [&](const CLI::App* each) { return each->get_name() == command; });
  if (command.empty()) {
    std::fputs(program.help().c_str(), stderr);
  } else if (command.front() != '-' && !known && !all.empty()) {
    complain("there is no command '" + command + "'; '" + called + " --help' lists them");
  } else {
    complain(std::string(e.what()) + "; see '" + called + " " + (known ? command + " " : "") + "--help'");
  }
  return status_usage;
}

}  // namespace

int run(CLI::App& program, const std::string& called, std::vector<std::string> words, const int& exit_status,
        const std::function<void(std::vector<std::string>&)>& prepare) {
  const std::string command = words.empty() ? "" : words.front();
  try {
    if (prepare) prepare(words);
    std::reverse(words.begin(), words.end());  // as CLI11 wants them
    program.parse(words);
  } catch (const CLI::CallForHelp& e) {
    return program.exit(e);
  } catch (const CLI::CallForAllHelp& e) {
    return program.exit(e);
  } catch (const CLI::CallForVersion& e) {
    return program.exit(e);
  } catch (const CLI::ParseError& e) {
    return refuse(program, called, e, command);
  } catch (const std::exception& e) {
    complain(e.what());
    return status_failed;
  }
  return exit_status;
}

}  // namespace weft::terminal
