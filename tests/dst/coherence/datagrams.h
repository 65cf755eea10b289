// Parcels over a bad network: weft's own reliability protocol (fabric/reliable), a link for each ordered pair of nodes, on simulated
// time and on datagrams that are lost, repeated, reordered, damaged and delayed.
#pragma once

#include "dst/coherence/seeded_port.h"
#include "dst/network.h"
#include "reliable/link.h"

namespace dst {

class datagrams final : public transport {
 public:
  explicit datagrams(sim_network& in);
  bool push(node_id from, node_id to, weft::lane l, parcel&& p) override;
  void hold(node_id, node_id, weft::lane, std::optional<weft::handler_id>) override {}
  void let_go(node_id, node_id, weft::lane) override {}
  bool holds(node_id, node_id, weft::lane) override { return false; }
  void refresh(node_id node) override;

 private:
  struct station {
    actor receives;  // looks at what has arrived and at the clock
    std::deque<weft::base::byte_buffer> inbox;
    std::vector<std::unique_ptr<weft::reliable::link>> links;  // by peer; none to itself
  };

  void receive(node_id self);
  void accept(node_id self, weft::bytes datagram);
  void deliver(node_id self, node_id from);
  void flush(node_id from, node_id to);
  void set_alarms(node_id self);

  sim_network& network_;
  weft::reliable::seal seal_;
  network wire_;
  actor carries_;  // brings due datagrams to the inboxes
  std::vector<station> nodes_;
};

}  // namespace dst
