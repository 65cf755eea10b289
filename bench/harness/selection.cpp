#include "bench/harness/selection.h"

#include <algorithm>

namespace weft::bench {

selection::selection(const std::string& only, const std::vector<requirement>& all) : everything_(only.empty()), judged_(all) {
  if (!everything_) std::erase_if(judged_, [&](const requirement& each) { return each.key != only; });
}

bool selection::wants(const std::string& owner, const std::string& name) const {
  auto is_it = [&](const measurements::place& p) { return p.owner == owner && p.name == name; };
  auto needs_it = [&](const requirement& r) { return std::any_of(r.needs.begin(), r.needs.end(), is_it); };
  return everything_ || std::any_of(judged_.begin(), judged_.end(), needs_it);
}

}  // namespace weft::bench
