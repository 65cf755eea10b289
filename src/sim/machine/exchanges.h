// What the nodes of a simulated job tell each other while they are set up, outside of the network: round by round, everybody's bytes.
#pragma once

#include <deque>
#include <vector>

#include <weft/port.h>

namespace weft::sim {

class exchanges {
 public:
  explicit exchanges(node_id nodes) : given_(nodes) {}

  struct round {
    std::vector<std::vector<std::byte>> from;  // by node
    std::size_t arrived = 0;
    bool complete() const noexcept { return arrived == from.size(); }
  };

  // A node's bytes for its next round, which is complete when all have given theirs. Rounds stay where they are.
  round& give(node_id n, bytes mine) {
    const std::size_t number = given_[n]++;
    if (number == rounds_.size()) rounds_.push_back({std::vector<std::vector<std::byte>>(given_.size())});
    round& r = rounds_[number];
    r.from[n].assign(mine.begin(), mine.end());
    ++r.arrived;
    return r;
  }

 private:
  std::vector<std::size_t> given_;  // by node: rounds that it has given to
  std::deque<round> rounds_;
};

}  // namespace weft::sim
