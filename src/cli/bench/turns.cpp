#include "cli/bench/turns.h"

#include <algorithm>

namespace weft::cli::bench {
namespace {

// Whether somebody is so many times as slow as the fastest. Who has no time yet is not.
bool is_slow(const std::string& label, const entrant& one, const std::vector<entrant>& all, const measurements& found,
             double times) {
  const auto own = found.least({one.owner, label, 0});
  if (!own || one.stays) return false;
  return std::any_of(all.begin(), all.end(), [&](const entrant& other) {
    const auto least = found.least({other.owner, label, 0});
    return least && *own > times * *least;
  });
}

}  // namespace

measurements take_turns(const std::string& label, const std::vector<entrant>& all, const turns& how, collector& into) {
  measurements found;
  for (unsigned round = 0; round < how.rounds; ++round)
    for (const auto& each : all) {
      if (round >= each.most) continue;
      into.advance(1, label + ", " + each.title);
      if (round >= how.of_all && is_slow(label, each, all, found, how.slow)) continue;
      if (const auto one = each.run())
        found.add_all(*one);
      else
        into.fail(one.sentence());
    }
  return found;
}

}  // namespace weft::cli::bench
