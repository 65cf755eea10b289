// Makes a failing case small: leaves out units, and what makes the surroundings complicated, as long as it still fails somehow under
// one of a few schedules.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dst/coherence/run.h"

namespace dst {

// All that decides a run.
struct test_case {
  std::string protocol;
  std::uint64_t seed = 1;                 // of the program and its surroundings
  std::optional<std::uint64_t> schedule;  // another than the seed's own
  bool plain = false;                     // messages, no pauses, no paging
  std::vector<std::uint32_t> kept;        // units; empty: all

  program make() const;
  cluster_options where(const program& p) const;
  outcome run(bool trace) const;
  std::string command() const;  // that repeats it
};

struct shrunk {
  test_case smallest;
  std::string how;  // it fails
};
shrunk shrink(const test_case& failing, const std::string& how);

}  // namespace dst
