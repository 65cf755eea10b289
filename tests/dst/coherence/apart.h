// Runs something in a process of its own, because a run that fails leaves threads behind, and one that fails badly takes its process
// with it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace dst {

// Where the child says what it is at, and what went wrong.
class report {
 public:
  void at(std::uint64_t number);  // and that it is still alive
  void failed(const std::string& how);

 private:
  friend struct apart;
  std::uint64_t number_ = 0;
  bool failed_ = false;
  char text_[8192] = {};
};

struct apart {
  struct failure {
    std::uint64_t number;  // what it was at
    std::string how;
  };

  static constexpr unsigned longest_run = 10;  // seconds of one case

  // Nothing if `body` returns without a failure. A child that says nothing for `seconds` is ended.
  static std::optional<failure> run(unsigned seconds, const std::function<void(report&)>& body);
};

}  // namespace dst
