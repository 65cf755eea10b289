#include "bench/programs/programs.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "bench/harness/cores.h"
#include "terminal/companion.h"

namespace weft::bench {
namespace {

using terminal::beside_this_program;

std::vector<std::string> command_of(const program_run& r, const std::string& statistics) {
  std::vector<std::string> words;
  if (r.protocol.empty()) {
    words = {beside_this_program(r.name + "_threads"), "--threads", std::to_string(r.workers)};
  } else {
    words = {beside_this_program("weft"), "run", "-n", std::to_string(r.workers), "--protocol", r.protocol, "--fabric", r.fabric};
    if (!r.engine.empty()) words.insert(words.end(), {"--engine", r.engine});
    if (!statistics.empty()) words.push_back("--stats=" + statistics);
    words.push_back(beside_this_program(r.name));
  }
  words.insert(words.end(), r.arguments.begin(), r.arguments.end());
  words.insert(words.end(), {"--time", "--repeat", std::to_string(r.repeat)});
  if (r.by_turns) words.push_back("--by-turns");
  if (const auto cores = two_cores(); !cores.empty())
    words.insert(words.end(), {"--cores", base::format("%d,%d", cores[r.swapped ? 1 : 0], cores[r.swapped ? 0 : 1])});
  return words;
}

// A file that goes with the process that uses it.
class temporary_file {
 public:
  temporary_file() : path_(base::format("%s/weft-bench-%d.json", std::filesystem::temp_directory_path().c_str(), ::getpid())) {}
  ~temporary_file() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  const std::string path_;
};

std::string title(const program_run& r) {
  return r.name + (r.protocol.empty() ? " with threads" : " on " + r.protocol + " over " + r.fabric);
}

result<double> run(const program_run& r, const std::string& statistics) {
  const std::string seconds = "seconds=";
  auto started = launch::subprocess::start(command_of(r, statistics), launch::subprocess::errors::shown);
  if (!started) return started.failure();
  std::optional<double> took;
  const int ended = started->read(
      [&](const std::string& line) {
        if (line.starts_with(seconds)) took = std::atof(line.c_str() + seconds.size());
      },
      r.limit);
  const auto which = title(r);
  if (ended != 0) return {errc::system, which + " " + launch::describe_end(ended)};
  if (!took) return {errc::system, which + " did not say how long it took"};
  return *took;
}

}  // namespace

result<double> run_program(const program_run& r) {
  return run(r, "");
}

result<counted_run> run_counted(const program_run& r) {
  const temporary_file statistics;
  const auto seconds = run(r, statistics.path());
  if (!seconds) return seconds.failure();
  const auto all = nlohmann::json::parse(std::ifstream(statistics.path()), nullptr, false);
  if (all.is_discarded()) return {errc::system, r.name + " wrote no statistics"};
  counted_run counted{*seconds, 0, 0, 0, 0, all.value("protocol", "")};
  double time = 0;
  for (const auto& [part, spent] : all["all"]["time"].items()) time += spent.get<double>();
  const auto& cost = all["all"]["watching"];
  if (time > 0)
    counted.watched_phases = cost["phases"].get<double>() / time, counted.watched_pages = cost["pages"].get<double>() / time;
  for (const auto& node : all["per_node"]) {
    for (const char* part : {"counts", "port"})
      for (const auto& [name, count] : node[part].items()) counted.counts[name] += count.get<std::uint64_t>();
    const auto& port = node["port"];
    for (const char* calls : {"puts", "gets", "atomics", "enqueues", "sends", "fences"}) counted.messages += port.value(calls, 0.0);
    for (const char* payload : {"put_bytes", "get_bytes", "send_bytes"}) counted.bytes += port.value(payload, 0.0);
  }
  counted.messages /= r.repeat;
  counted.bytes /= r.repeat;
  return counted;
}

result<program_by_turns> program_by_turns::start(program_run r) {
  r.by_turns = true;
  auto started =
      launch::subprocess::start(command_of(r, ""), launch::subprocess::errors::shown, {}, launch::subprocess::input::told);
  if (!started) return started.failure();
  return program_by_turns(std::move(r), std::move(*started));
}

result<double> program_by_turns::run() {
  const std::string turn = "turn=";
  if (process_.tell(""))
    while (const auto line = process_.next_line(what_.limit))
      if (line->starts_with(turn)) return std::atof(line->c_str() + turn.size());
  return {errc::system, title(what_) + " ended early, or took too long"};
}

void program_by_turns::end() {
  process_.read([](const std::string&) {}, what_.limit);
}

std::string programs_missing(const std::vector<std::string>& names, bool with_threads) {
  for (const auto& name : names)
    for (const auto& each : {name, name + "_threads"})
      if ((with_threads || each == name) && !launch::installed(beside_this_program(each)))
        return "there is no program " + beside_this_program(each) + "; build the programs of apps/ (cmake --build build)";
  return "";
}

}  // namespace weft::bench
