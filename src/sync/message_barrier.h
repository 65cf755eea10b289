// A tree barrier by messages that merges the protocol's notices on the way up and brings all of them down.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "base/bytes.h"
#include "dsm/homes.h"
#include "dsm/protocol.h"
#include "os/spin.h"
#include "sync/barriers.h"
#include "sync/releases.h"

namespace weft::sync {

// A barrier's parcel holds one block for each node it comes from: its number, its value, its news. Calls visit(node, value, news) for
// each; false: the parcel makes no sense.
template <typename Visit>
bool for_blocks(bytes parcel, Visit&& visit) {
  base::reader in(parcel);
  while (in.left() != 0) {
    const auto node = in.take<node_id>();
    const bytes value = in.take_block(), news = in.take_block();
    if (!in.ok()) return false;
    visit(node, value, news);
  }
  return true;
}

class message_barrier final : public barriers {
 public:
  // Collective. A node gathers the notices of `fan_in` others, at least one; if that is all of them, node 0 is the central manager of
  // TreadMarks.
  static result<std::unique_ptr<message_barrier>> create(port& p, dsm::protocol& protocol, releases& own,
                                                         const dsm::exchange& with_all, node_id fan_in = 4);

  status arrive_and_wait() override { return meet({}, {}); }
  status gather(bytes mine, mutable_bytes all) override { return meet(mine, all); }

 private:
  // What has come of one barrier. Two of them: a child may be at the next barrier while this node is leaving the last.
  struct phase {
    std::vector<std::vector<std::byte>> from_children;  // by place among the children, as it arrives
    std::uint32_t arrived = 0;                          // children whose parcels are complete
    std::vector<std::byte> from_parent;
    bool departed = false;
  };

  message_barrier(port& p, dsm::protocol& protocol, releases& own, node_id fan_in);
  status meet(bytes mine, mutable_bytes all);
  node_id first_child() const noexcept { return port_.self() * fan_in_ + 1; }
  node_id children() const noexcept;
  void take_arrival(const message& m);
  void take_departure(const message& m);

  port& port_;
  dsm::protocol& protocol_;
  releases& releases_;
  const node_id fan_in_;
  std::uint64_t epoch_ = 0;  // only the thread that is in the barrier
  os::spin_lock lock_;       // guards phases_
  phase phases_[2];
};

}  // namespace weft::sync
