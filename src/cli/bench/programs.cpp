#include "cli/bench/programs.h"

#include <filesystem>
#include <optional>

#include "base/text.h"
#include "cli/bench/cores.h"
#include "cli/bench/subprocess.h"

namespace weft::cli::bench {
namespace {

std::filesystem::path self() { return std::filesystem::read_symlink("/proc/self/exe"); }
std::string beside_self(const std::string& name) { return (self().parent_path() / name).string(); }

std::vector<std::string> command_of(const program_run& r) {
  std::vector<std::string> words;
  if (r.protocol.empty()) {
    words = {beside_self(r.name + "_threads"), "--threads", std::to_string(r.workers)};
  } else {
    words = {self().string(), "run", "-n", std::to_string(r.workers), "--protocol", r.protocol, "--fabric", r.fabric};
    if (!r.engine.empty()) words.insert(words.end(), {"--engine", r.engine});
    words.push_back(beside_self(r.name));
  }
  words.insert(words.end(), r.arguments.begin(), r.arguments.end());
  words.insert(words.end(), {"--time", "--repeat", std::to_string(r.repeat)});
  if (const auto cores = two_cores(); !cores.empty())
    words.insert(words.end(), {"--cores", base::format("%d,%d", cores[0], cores[1])});
  return words;
}

}  // namespace

result<double> run_program(const program_run& r) {
  constexpr double limit = 300;  // seconds
  const std::string seconds = "seconds=";
  auto run = subprocess::start(command_of(r), subprocess::errors::shown);
  if (!run) return run.failure();
  std::optional<double> took;
  const int ended = run->read(
      [&](const std::string& line) {
        if (line.starts_with(seconds)) took = std::atof(line.c_str() + seconds.size());
      },
      limit);
  const auto which = r.name + (r.protocol.empty() ? " with threads" : " on " + r.protocol + " over " + r.fabric);
  if (ended != 0) return {errc::system, which + " " + describe_end(ended)};
  if (!took) return {errc::system, which + " did not say how long it took"};
  return *took;
}

std::string programs_missing(const std::vector<std::string>& names) {
  for (const auto& name : names)
    for (const auto& each : {name, name + "_threads"})
      if (!installed(beside_self(each)))
        return "there is no program " + beside_self(each) + "; build the programs of apps/ (cmake --build build)";
  return "";
}

}  // namespace weft::cli::bench
