#include "options.h"

#include <sched.h>

#include <filesystem>

#include <CLI/CLI.hpp>

namespace app {

struct options::parser {
  CLI::App cli;
};

options::options(const std::string& description) : parser_(new parser{CLI::App(description)}) {
  auto& cli = parser_->cli;
  cli.add_option("--threads", threads, "workers on each node")->check(CLI::Range(1, 256))->capture_default_str();
  cli.add_option("--cores", cores, "cores for the workers, by rank, with commas between them")
      ->delimiter(',')
      ->check(CLI::Range(0, CPU_SETSIZE - 1))
      ->type_name("LIST");
  cli.add_option("--seed", seed, "of the random input")->capture_default_str();
  cli.add_option("--repeat", repeat, "run all of it so many times, and print the fastest time")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  cli.add_flag("--verify", verify, "compare with a sequential run on node 0; exit status 1 if it differs");
  cli.add_flag("--by-turns", by_turns,
               "begin each run when a line has come on standard input, and print its time when it has ended");
  cli.add_flag("--time", time_only, "print seconds=... of the parallel part and nothing else");
}

options::~options() = default;

void options::number(const std::string& name, std::size_t& value, const std::string& what, range allowed) {
  parser_->cli.add_option(name, value, what)->check(CLI::Range(allowed.least, allowed.most))->capture_default_str();
}

void options::flag(const std::string& name, bool& value, const std::string& what) {
  parser_->cli.add_flag(name, value, what);
}

void options::place(const weft::worker& me) const {
  if (cores.empty()) return;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<std::size_t>(cores[me.rank() % cores.size()]), &one);
  if (threads > 1) {
    ::sched_setaffinity(0, sizeof one, &one);
    return;
  }
  for (const auto& each : std::filesystem::directory_iterator("/proc/self/task"))
    ::sched_setaffinity(std::stoi(each.path().filename().string()), sizeof one, &one);
}

void options::begin_turn() const {
  if (!by_turns || !tells_) return;
  for (int c = 0; c != '\n' && c != EOF;) c = std::getchar();
}

void options::end_turn(double seconds) const {
  if (!by_turns || !tells_) return;
  std::printf("turn=%.6f\n", seconds);
  std::fflush(stdout);
}

std::optional<int> options::parse(int argc, char** argv, bool tell, const std::function<std::string()>& objection) {
  tells_ = tell;
  auto& cli = parser_->cli;
  try {
    cli.parse(argc, argv);
    if (const auto sentence = objection ? objection() : ""; !sentence.empty()) throw CLI::ValidationError(sentence);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return tell ? cli.exit(e) : 0;  // --help
    if (tell) std::fprintf(stderr, "%s; --help shows the options\n", e.what());
    return 2;
  }
  return std::nullopt;
}

}  // namespace app
