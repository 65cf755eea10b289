// The simulations behind Cashmere's tables and figures: programs on its systems, on few and on many processors, and some on other networks.
#pragma once

#include <string>
#include <vector>

#include "research/cashmere_results.h"
#include "research/experiment.h"

namespace weft::research {

class cashmere_runs {
 public:
  // A program stands under the name that it is called by (program::called).
  cashmere_runs(std::vector<program> programs, const request& r);

  void simulate();
  result result_of(const program& p) const;

  unsigned few() const noexcept { return few_; }
  unsigned many() const noexcept { return many_; }
  const experiment& all() const noexcept { return runs_; }

  point at(const std::string& program, const std::string& system) const { return {program, system, many_}; }
  // What: latency or bandwidth.
  point varied(const std::string& program, const std::string& system, const std::string& what, const std::string& value) const;

 private:
  bool on_other_networks(const program& p) const;

  const unsigned few_, many_;
  std::vector<program> programs_;
  experiment runs_;
};

inline const std::vector<std::string> latencies = {"500ns", "1us", "2us", "10us"}, bandwidths = {"100", "200", "400", "1000"};

}  // namespace weft::research
