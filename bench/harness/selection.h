// Which measurements are wanted: all, or those that the key of `--only` is made of.
#pragma once

#include <string>
#include <vector>

#include "bench/harness/requirements.h"

namespace weft::bench {

class selection {
 public:
  // `only`: a key of `all`, or empty.
  selection(const std::string& only, const std::vector<requirement>& all);

  const std::vector<requirement>& judged() const { return judged_; }
  bool everything() const { return everything_; }
  bool wants(const std::string& owner, const std::string& name) const;

 private:
  const bool everything_;
  std::vector<requirement> judged_;
};

}  // namespace weft::bench
