// A checksum of numbers and their places that does not depend on who adds up which part: equal results give equal checksums on any
// number of nodes and threads.
#pragma once

#include <bit>
#include <cstdint>
#include <cstdio>
#include <string>

#include "random.h"

namespace app {

class checksum {
 public:
  void add(std::uint64_t place, std::uint64_t value) noexcept { sum_ += mixed(value + mixed(place)); }
  void add(std::uint64_t place, double value) noexcept { add(place, std::bit_cast<std::uint64_t>(value)); }

  std::uint64_t value() const noexcept { return sum_; }

 private:
  std::uint64_t sum_ = 0;
};

inline std::string hexadecimal(std::uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
  return text;
}

}  // namespace app
