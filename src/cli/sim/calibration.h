// `weft sim --calibrate`: the model beside reality. Measures what things cost on this host, then runs programs here and in the
// simulator, and compares what was counted and how long it took.
//
// Programs whose references do not depend on who comes first, on lrc, which counts nothing that does: every count must be equal.
#pragma once

#include <string>

namespace weft::cli::simulator {

struct calibration_request {
  unsigned nodes = 2;
  bool quick = false;  // small programs, and costs measured in a hurry
  std::string json;
};

// The exit status: 0 when all counts are equal.
int calibrate(const calibration_request& r);

}  // namespace weft::cli::simulator
