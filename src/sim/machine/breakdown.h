// Where a processor's time goes, as in Figure 2 of the Cashmere paper.
#pragma once

#include <array>
#include <cstddef>

#include "sim/parts/event_queue.h"

namespace weft::sim {

enum class cost : std::size_t {
  cache_stall,      // misses, TLB fills, a write buffer that is full
  protocol,         // faults, directory, notices, waiting for writes at a release, messages' software
  diff,             // twins, making and applying diffs
  interrupt,        // handling messages of others
  page_copy,        // waiting for pages
  synchronisation,  // waiting at locks, flags and barriers
};
inline constexpr std::size_t costs = 6;
inline constexpr const char* cost_names[costs] = {"cache_stall", "protocol", "diff", "interrupt", "page_copy", "synchronisation"};

struct breakdown {
  cycles total = 0;
  std::array<cycles, costs> spent{};

  void add(cost c, cycles amount) noexcept { spent[static_cast<std::size_t>(c)] += amount; }
  cycles of(cost c) const noexcept { return spent[static_cast<std::size_t>(c)]; }
  cycles computing() const noexcept {
    cycles left = total;
    for (const cycles s : spent) left -= s;
    return left;
  }
};

}  // namespace weft::sim
