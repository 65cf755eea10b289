// Collects what a node writes and gives it out in whole lines.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace weft::launch {

class line_buffer {
 public:
  // A line that is longer than this is given out in pieces.
  static constexpr std::size_t most_bytes = 64 * 1024;

  void add(std::string_view text) { held_.append(text); }

  // Everything up to the last end of a line; all of it when there is more than a line may have.
  std::string take_lines() {
    const auto end = held_.rfind('\n');
    if (end == std::string::npos) return held_.size() >= most_bytes ? take_all() : std::string();
    std::string lines = held_.substr(0, end + 1);
    held_.erase(0, end + 1);
    return lines;
  }

  std::string take_all() { return std::exchange(held_, {}); }
  bool empty() const { return held_.empty(); }

 private:
  std::string held_;
};

}  // namespace weft::launch
