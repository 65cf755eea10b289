// Channels that lose nothing: parcels wait in each until the scheduler has it deliver the first.
#pragma once

#include "dst/coherence/seeded_port.h"

namespace dst {

class channels final : public transport {
 public:
  explicit channels(sim_network& in);
  bool push(node_id from, node_id to, weft::lane l, parcel&& p) override;
  void refresh(node_id node) override;
  void hold(node_id from, node_id to, weft::lane l, std::optional<weft::handler_id> kind) override;
  void let_go(node_id from, node_id to, weft::lane l) override;
  bool holds(node_id from, node_id to, weft::lane l) override { return at(from, to, l).stuck(); }

 private:
  struct channel {
    node_id from, to;
    weft::lane lane;
    actor delivers;
    std::deque<parcel> parcels;
    bool held = false;
    std::optional<weft::handler_id> kind = {};  // what comes before the first of it is not held
    bool stuck() const { return held && !parcels.empty() && (!kind || parcels.front().id == *kind); }
  };

  channel& at(node_id from, node_id to, weft::lane l) {
    return channels_[(std::size_t{from} * nodes_ + to) * weft::lanes + static_cast<std::size_t>(l)];
  }
  bool for_interface(const parcel& p) const;
  void enable_or_disable(channel& c);
  void deliver(channel& c);

  sim_network& network_;
  const node_id nodes_;
  std::vector<channel> channels_;
};

}  // namespace dst
