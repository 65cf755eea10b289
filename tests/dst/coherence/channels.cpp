#include "dst/coherence/channels.h"

#include "fabric/own_handlers.h"

namespace dst {

namespace own = weft::fabric::own;
using weft::lane;

channels::channels(sim_network& in) : network_(in), nodes_(in.how().nodes) {
  for (node_id from = 0; from < nodes_; ++from)
    for (node_id to = 0; to < nodes_; ++to)
      for (const lane l : {lane::request, lane::reply}) channels_.push_back({from, to, l, 0, {}});
  for (channel& c : channels_)
    if (c.from != c.to)
      c.delivers = in.time().add_source(
          c.to, [this, &c] { deliver(c); }, [this, &c] { return !for_interface(c.parcels.front()); });
}

// Whether the network interface does it, without the node.
bool channels::for_interface(const parcel& p) const {
  return network_.how().style != network_style::messages && (p.id == own::put || p.id == own::put_runs || p.id == own::get ||
                                                             p.id == own::atomic || p.id == own::enqueue || p.id == own::fence);
}

bool channels::push(node_id from, node_id to, lane l, parcel&& p) {
  channel& c = at(from, to, l);
  if (c.parcels.size() >= network_.how().room) return false;
  c.parcels.push_back(std::move(p));
  enable_or_disable(c);
  return true;
}

void channels::deliver(channel& c) {
  sim_port& to = network_.port(c.to);
  const parcel p = std::move(c.parcels.front());
  c.parcels.pop_front();
  if (c.parcels.empty() || c.stuck()) network_.time().disable(c.delivers);
  const bool was_full = c.parcels.size() + 1 >= network_.how().room;
  to.take(c.from, c.lane, p);
  // What an interface does alone wakes nobody, except that a queue rings.
  if (!for_interface(p) || p.id == own::enqueue) network_.time().news(c.to);
  if (was_full) network_.port(c.from).room();
  refresh(c.to);
}

void channels::refresh(node_id node) {
  for (node_id from = 0; from < nodes_; ++from) enable_or_disable(at(from, node, lane::request));
}

void channels::hold(node_id from, node_id to, lane l, std::optional<weft::handler_id> kind) {
  channel& c = at(from, to, l);
  c.held = true;
  c.kind = kind;
  enable_or_disable(c);
}

void channels::let_go(node_id from, node_id to, lane l) {
  channel& c = at(from, to, l);
  c.held = false;
  enable_or_disable(c);
}

void channels::enable_or_disable(channel& c) {
  if (c.parcels.empty()) return;
  const bool goes = !c.stuck() && network_.port(c.to).welcomes(c.lane);
  goes ? network_.time().enable(c.delivers) : network_.time().disable(c.delivers);
}

}  // namespace dst
