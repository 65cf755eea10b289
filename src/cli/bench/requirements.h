// The ratios that `weft bench` is judged by: how each is made of measurements, and what it must be.
//
// A bare cache line is handed over in two ways. In the first each side watches a line of its own and answers in the other's, which is
// what a put and a message do by their nature: memory of one node is written by the other. In the second a single line goes to and
// fro, which takes a processor half the traffic. The keys compare like with like; the single line is reported beside them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/bench/measurement.h"

namespace weft::cli::bench {

inline constexpr double only_reported = -1;

struct requirement {
  const char* key;
  const char* fabric;  // measured when this fabric is
  const char* meaning;
  bool at_most;
  double bound;  // or only_reported
  std::optional<double> (*value)(const measurements& m);
};

const std::vector<requirement>& fabric_requirements();
const std::vector<requirement>& vmmc_requirements();

// Of all ways of streaming over plain sockets, the best.
std::optional<double> best_socket_stream(const measurements& m);  // GB/s

}  // namespace weft::cli::bench
