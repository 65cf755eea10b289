#include "bench/harness/turns.h"

namespace weft::bench {

measurements take_turns(const std::string& label, const std::vector<entrant>& all, unsigned rounds, collector& into) {
  measurements found;
  for (unsigned round = 0; round < rounds; ++round)
    for (const auto& each : all) {
      if (round >= each.most) continue;
      into.advance(1, label + ", " + each.title);
      if (const auto one = each.run())
        found.add_all(*one);
      else
        into.fail(one.sentence());
    }
  return found;
}

}  // namespace weft::bench
