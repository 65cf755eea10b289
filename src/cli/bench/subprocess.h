// A program that is run to its end while its output is read line by line. What the peers and our own jobs are started with.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <sys/types.h>
#include <weft/status.h>

namespace weft::cli::bench {

// Starts `words` (looked for in PATH), without our WEFT_ variables, with standard input empty; ends when this process does.
class subprocess {
 public:
  enum class errors { shown, hidden };
  using variables = std::vector<std::string>;  // NAME=VALUE, over the environment

  static result<subprocess> start(std::vector<std::string> words, errors how, const variables& more = {});
  subprocess(subprocess&& other) noexcept;
  subprocess& operator=(subprocess&&) = delete;
  ~subprocess();  // ends it if it still runs

  // Calls `line` for each line until the output ends or `seconds` have passed; the wait status, or -1 if it had to be ended.
  int read(const std::function<void(const std::string&)>& line, double seconds);

 private:
  subprocess(pid_t pid, int output) : pid_(pid), output_(output) {}
  int end();

  pid_t pid_;
  int output_;
};

// "ended with status 1", for sentences.
std::string describe_end(int wait_status);

bool installed(const std::string& program);

}  // namespace weft::cli::bench
