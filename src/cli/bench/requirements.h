// The ratios that `weft bench fabric` is judged by: how each is made of measurements, and what it must be.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/bench/measurement.h"

namespace weft::cli::bench {

struct requirement {
  const char* key;
  const char* fabric;  // measured when this fabric is
  const char* meaning;
  bool at_most;
  double bound;
  std::optional<double> (*value)(const measurements& m);
};

const std::vector<requirement>& requirements();

// The floors: of several ways of doing the bare thing, the best.
std::optional<double> cache_line_one_way(const measurements& m);  // ns
std::optional<double> best_socket_stream(const measurements& m);  // GB/s

}  // namespace weft::cli::bench
