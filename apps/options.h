// The command line of a program: its own options, and those that all programs share (--threads, --cores, --seed, --repeat,
// --verify, --time, --help).
//
//   app::options o("what the program does");
//   o.number("--size", size, "rows and columns", {3, 65536});
//   if (const auto status = o.parse(job, argc, argv)) return *status;
//
// Defined in options.cpp, so that the parser is compiled once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <weft/weft.h>

namespace app {

struct range {
  std::size_t least, most;
};

class options {
 public:
  explicit options(const std::string& description);
  ~options();
  options(const options&) = delete;
  options& operator=(const options&) = delete;

  void number(const std::string& name, std::size_t& value, const std::string& what, range allowed);
  void flag(const std::string& name, bool& value, const std::string& what);

  // Nothing if the program shall go on, otherwise its exit status. All nodes get the same arguments and so decide the same; node 0
  // tells. `objection` says what no single option shows: a sentence, or nothing.
  std::optional<int> parse(const weft::job& job, int argc, char** argv, const std::function<std::string()>& objection = {}) {
    return parse(argc, argv, job.self() == 0, objection);
  }

  // Puts a worker onto its core of --cores, if that was given. The only worker of a node takes all of the node's threads with it.
  void place(const weft::worker& me) const;

  // With --by-turns, on node 0: a run begins when a line has come, and is told when it has ended.
  void begin_turn() const;
  void end_turn(double seconds) const;

  std::uint32_t threads = 1;
  std::uint32_t repeat = 1;
  std::vector<int> cores;  // by worker, from the start again when there are more workers
  std::uint64_t seed = 1;
  bool verify = false, time_only = false, by_turns = false;

 private:
  struct parser;
  std::optional<int> parse(int argc, char** argv, bool tell, const std::function<std::string()>& objection);

  std::unique_ptr<parser> parser_;
  bool tells_ = false;  // this is node 0
};

}  // namespace app
