// A program that is run while its output is read line by line. What the peers and our own jobs are started with.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>
#include <weft/status.h>

#include "base/clock.h"
#include "os/descriptor.h"

namespace weft::launch {

// Starts `words` (looked for in PATH), without our WEFT_ variables; ends when this process does.
class subprocess {
 public:
  enum class errors { shown, hidden };
  enum class input { empty, told };
  using variables = std::vector<std::string>;  // NAME=VALUE, over the environment

  static result<subprocess> start(std::vector<std::string> words, errors how, const variables& more = {}, input in = input::empty);
  subprocess(subprocess&& other) noexcept;
  subprocess& operator=(subprocess&&) = delete;
  ~subprocess();  // ends it if it still runs

  // Calls `line` for each line until the output ends or `seconds` have passed; the wait status, or -1 if it had to be ended.
  int read(const std::function<void(const std::string&)>& line, double seconds);

  // One line to its standard input, if that was to be told; false when nobody reads it any more.
  bool tell(const std::string& line);

  // Its next line. Nothing: the output has ended, or it took longer than `seconds`.
  std::optional<std::string> next_line(double seconds);

 private:
  subprocess(pid_t pid, os::descriptor output, os::descriptor input)
      : pid_(pid), output_(std::move(output)), input_(std::move(input)) {}
  int end();
  enum class got { line, late, nothing_more };
  got next(base::nanoseconds deadline, std::string& line);

  pid_t pid_;
  os::descriptor output_, input_;  // our ends
  std::string pending_;            // read, and not yet told
};

// "ended with status 1", for sentences.
std::string describe_end(int wait_status);

bool installed(const std::string& program);

}  // namespace weft::launch
