// Combining as in SHRIMP 4.5.1: stores that follow one another are one packet, until one is made elsewhere, a page ends, or none has come for
// some time. There is one packet, where a merge buffer (merge_buffer.h) has several lines.
#pragma once

#include <cstdint>

#include "dsm/pages.h"
#include "sim/parts/event_queue.h"

namespace weft::sim {

struct packet {
  std::uint64_t first = 0, last = 0;  // the same: there is none
  cycles grown_at = 0;

  bool empty() const noexcept { return first == last; }
  std::uint64_t bytes() const noexcept { return last - first; }
  std::uint64_t page() const noexcept { return first / dsm::page_bytes; }
  bool due(cycles now, cycles waits) const noexcept { return now >= grown_at + waits; }

  // Whether a store there may join it.
  bool takes(std::uint64_t offset, cycles now, cycles waits) const noexcept {
    return !empty() && offset == last && offset / dsm::page_bytes == page() && !due(now, waits);
  }
};

}  // namespace weft::sim
