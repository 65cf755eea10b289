// The ratios that `weft bench` is judged by: how each is made of measurements, and what it must be.
//
// A bare cache line is handed over in two ways. In the first each side watches a line of its own and answers in the other's, which is
// what a put and a message do by their nature: memory of one node is written by the other. In the second a single line goes to and
// fro, which takes a processor half the traffic. The keys compare like with like; the single line is reported beside them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/harness/measurement.h"

namespace weft::bench {

inline constexpr double only_reported = -1;

struct requirement {
  std::string key;
  std::string fabric;  // measured when this fabric is
  std::string meaning;
  bool at_most;
  double bound;  // or only_reported
  std::function<std::optional<double>(const measurements& m)> value;
  std::vector<measurements::place> needs = {};  // what it is made of, where one can ask for a key alone
};

// One that is `made` of samples taken together.
requirement made_of(std::string key, std::string fabric, std::string meaning, bool at_most, double bound,
                    std::vector<measurements::place> needs, measurements::formula made);

const std::vector<requirement>& fabric_requirements();
const std::vector<requirement>& vmmc_requirements();
const std::vector<requirement>& memory_requirements();

// Of all ways of streaming over plain sockets, the best.
std::optional<double> best_socket_stream(const measurements& m);  // GB/s

}  // namespace weft::bench
