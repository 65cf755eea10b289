// A processor's write buffer: writes that have not left the node yet. The processor goes on, until there are too many.
#pragma once

#include <algorithm>
#include <vector>

#include "sim/parts/event_queue.h"

namespace weft::sim {

class write_buffer {
 public:
  explicit write_buffer(std::uint64_t entries) : leaves_at_(entries) {}

  // When a write that comes now finds room.
  cycles room_at(cycles now) const noexcept { return std::max(now, leaves_at_[oldest_]); }

  // It has found room, and leaves then. Writes leave in order.
  void add(cycles leaves) noexcept {
    leaves_at_[oldest_] = last_ = std::max(last_, leaves);
    if (++oldest_ == leaves_at_.size()) oldest_ = 0;
  }

 private:
  std::vector<cycles> leaves_at_;  // of as many as there is room for, round about
  std::size_t oldest_ = 0;
  cycles last_ = 0;
};

}  // namespace weft::sim
