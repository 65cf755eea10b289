// What `weft bench` prints and writes: the ratios and what they must be, StarT-JR's Tables 2 and 3, and the JSON.
#pragma once

#include <string>
#include <vector>

#include "bench/harness/machine.h"
#include "bench/harness/measurement.h"
#include "bench/harness/requirements.h"

namespace weft::bench {

// A system in tables and plots.
struct system {
  std::string owner, title;
};

struct report {
  bench::machine machine;
  std::string command, pinning;
  std::vector<system> fabrics, peers;
  std::vector<std::string> notes;  // what was not measured, and why
  measurements found;
  const std::vector<requirement>* judged_by = &fabric_requirements();
};

std::string ratios_text(const report& r);
std::string table_2_text(const report& r);
std::string table_3_text(const report& r);
std::string rest_text(const report& r);
std::string json_text(const report& r);

}  // namespace weft::bench
