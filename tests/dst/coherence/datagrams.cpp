#include "dst/coherence/datagrams.h"

#include <algorithm>

#include "base/bytes.h"

namespace dst {

namespace wr = weft::reliable;
using weft::lane;
using weft::base::microsecond;
using weft::base::second;

namespace {

constexpr std::uint64_t group = 0x636f6865;

network_options faults_by(const sim_network::options& o) {
  weft::base::random r(o.seed ^ 0x6661756c7473u);
  constexpr double losses[] = {0, 0.01, 0.05, 0.15};
  network_options n;
  n.nodes = o.nodes;
  n.faults.loss = losses[r.below(std::size(losses))];
  n.faults.duplicate = r.chance(0.5) ? r.unit() * 0.1 : 0;
  n.faults.reorder = r.chance(0.5) ? r.unit() * 0.3 : 0;
  n.faults.corrupt = r.chance(0.3) ? r.unit() * 0.05 : 0;
  n.faults.delay = static_cast<nanoseconds>(r.between(1, 50)) * microsecond;
  n.faults.jitter = static_cast<nanoseconds>(r.below(100)) * microsecond;
  n.seed = o.seed;
  n.group = group;
  return n;
}

struct record_head {
  weft::handler_id id;
  std::uint16_t words;
  std::uint32_t payload;
};

}  // namespace

datagrams::datagrams(sim_network& in) : network_(in), seal_(wr::seal::key{}), wire_(faults_by(in.how())), nodes_(in.how().nodes) {
  for (node_id self = 0; self < nodes_.size(); ++self) {
    for (node_id peer = 0; peer < nodes_.size(); ++peer) {
      wr::link_options o;
      o.self = self;
      o.peer = peer;
      o.group = group;
      o.sealer = &seal_;
      o.incarnation = self + 1;
      o.datagram_bytes = in.how().seed % 3 == 0 ? 1472 : 9000;
      o.dead_after = 60 * second;
      for (std::size_t l = 0; l < weft::lanes; ++l) o.send_buffer_bytes[l] = o.receive_buffer_bytes[l] = wr::least_buffer_bytes;
      nodes_[self].links.push_back(peer == self ? nullptr : std::make_unique<wr::link>(o));
    }
    nodes_[self].receives = in.time().add_source(
        self, [this, self] { receive(self); }, [] { return true; });
  }
  carries_ = in.time().add_source(0, [this] {
    network_.time().disable(carries_);
    wire_.deliver(network_.time().now(), [this](node_id to, weft::bytes d) {
      nodes_[to].inbox.emplace_back(d.begin(), d.end());
      network_.time().enable(nodes_[to].receives);
    });
    network_.time().alarm(carries_, wire_.next());
  });
}

bool datagrams::push(node_id from, node_id to, lane l, parcel&& p) {
  wr::link& k = *nodes_[from].links[to];
  weft::base::writer head;
  head.put(record_head{p.id, static_cast<std::uint16_t>(p.words.size()), static_cast<std::uint32_t>(p.payload.size())});
  head.put_bytes(std::as_bytes(std::span(p.words)));
  if (!k.room(l, head.view().size() + p.payload.size())) return false;
  k.push(l, head.view(), p.payload);
  flush(from, to);
  set_alarms(from);
  return true;
}

void datagrams::refresh(node_id node) {
  network_.time().enable(nodes_[node].receives);
}

void datagrams::flush(node_id from, node_id to) {
  wr::link::outgoing out;
  const auto now = network_.time().now();
  while (nodes_[from].links[to]->transmit(now, out)) wire_.send(now, from, to, out.header, out.payload);
  network_.time().alarm(carries_, wire_.next());
}

void datagrams::set_alarms(node_id self) {
  nanoseconds next = scheduler::never;
  for (const auto& l : nodes_[self].links)
    if (l) next = std::min(next, l->deadline());
  network_.time().alarm(nodes_[self].receives, next);
}

// One datagram, or what an earlier one has left, and the timers.
void datagrams::receive(node_id self) {
  station& n = nodes_[self];
  if (!n.inbox.empty()) {
    const auto datagram = std::move(n.inbox.front());
    n.inbox.pop_front();
    accept(self, datagram);
  }
  if (n.inbox.empty()) network_.time().disable(n.receives);
  for (node_id peer = 0; peer < nodes_.size(); ++peer) {
    if (peer == self) continue;
    deliver(self, peer);
    flush(self, peer);
    if (const auto why = n.links[peer]->why(network_.time().now()); why != wr::end_cause::none)
      network_.time().fail(std::string("a link ended: ") + wr::to_string(why));
  }
  set_alarms(self);
}

void datagrams::accept(node_id self, weft::bytes datagram) {
  const auto from = wr::claimed_source(datagram);
  if (!from || *from >= nodes_.size() || *from == self) return;
  wr::link& k = *nodes_[self].links[*from];
  if (wr::rejected(k.receive(network_.time().now(), datagram))) return;
  deliver(self, *from);
  k.settle();
  network_.port(self).room();  // acknowledgements make some
}

void datagrams::deliver(node_id self, node_id from) {
  wr::link& k = *nodes_[self].links[from];
  sim_port& p = network_.port(self);
  for (const lane l : {lane::reply, lane::request})
    while (const auto record = p.welcomes(l) ? k.front(l) : std::nullopt) {
      weft::base::reader in(*record);
      const auto head = in.take<record_head>();
      parcel got{head.id, std::vector<weft::word>(head.words), {}};
      const auto words = in.take_bytes(head.words * sizeof(weft::word)), payload = in.take_bytes(head.payload);
      std::copy(words.begin(), words.end(), reinterpret_cast<std::byte*>(got.words.data()));
      got.payload.assign(payload.begin(), payload.end());
      if (!in.complete()) return network_.time().fail("a record that is not what was sent");
      k.pop(l);
      p.take(from, l, got);
      network_.time().news(self);
    }
}

}  // namespace dst
