// A dissemination barrier made of words: in round r a node stores into the memory of the one 2^r places further and waits for a
// store from the one 2^r places back. After log2 n rounds everybody has heard of everybody. No handler runs anywhere. Values that are
// gathered go along: in each round a node passes on all that it has.
#pragma once

#include <memory>
#include <vector>

#include "dsm/homes.h"
#include "dsm/protocol.h"
#include "sync/barriers.h"
#include "sync/releases.h"

namespace weft::sync {

class word_barrier final : public barriers {
 public:
  // Collective.
  static result<std::unique_ptr<word_barrier>> create(port& p, dsm::protocol& protocol, releases& own,
                                                      const dsm::exchange& with_all);

  status arrive_and_wait() override;
  status gather(bytes mine, mutable_bytes all) override;

 private:
  static constexpr std::size_t most_rounds = 32;

  word_barrier(port& p, dsm::protocol& protocol, releases& own) : port_(p), protocol_(protocol), releases_(own) {}
  status meet(bytes mine);  // not empty: and gathers
  status pass_on(node_id to, node_id values, std::size_t size);
  word* rounds() const noexcept { return reinterpret_cast<word*>(own_.base()); }
  // Values lie behind the rounds, in two sets: a node may be a barrier ahead of one that still reads.
  std::size_t value_offset(node_id node) const noexcept {
    return most_rounds * sizeof(word) + ((epoch_ % 2) * port_.nodes() + node) * most_gathered;
  }

  port& port_;
  dsm::protocol& protocol_;
  releases& releases_;
  dsm::lazy_memory own_;
  std::vector<window> windows_;
  word epoch_ = 0;  // the barrier's number; only the thread that is in it
};

}  // namespace weft::sync
