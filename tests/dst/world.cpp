#include "dst/world.h"

#include <algorithm>

#include "base/text.h"

namespace dst {

using weft::bytes;
using weft::lane;
using weft::node_id;
using weft::base::format;
using weft::base::microsecond;
using weft::base::millisecond;
using weft::base::second;

namespace {

constexpr std::size_t most_inbox = 512;     // datagrams, as a socket buffer is bounded
constexpr nanoseconds drain_time = second;  // simulated; several times the longest back-off
constexpr nanoseconds reply_time = second;
constexpr std::uint64_t most_steps_at_once = 20000;  // a link that asks to be called again and again for nothing
constexpr lane both[] = {lane::request, lane::reply};

std::size_t index(lane l) {
  return static_cast<std::size_t>(l);
}

wr::seal::key key_of(std::uint64_t seed) {
  wr::seal::key key{};
  weft::base::store(key.data(), seed * 0x9e3779b97f4a7c15u + 1);
  return key;
}

}  // namespace

world::world(std::uint64_t seed, plant planted)
    : seed_(seed),
      planted_(planted),
      sealer_(key_of(seed)),
      plan_(plan::from(seed, sealer_, planted)),
      random_(seed ^ 0x776f726c64),
      net_(plan_.net),
      nodes_(plan_.nodes) {
  for (node_id n = 0; n < plan_.nodes; ++n) {
    connect(n, 1000 + n);
    nodes_[n].wake_at = static_cast<nanoseconds>(random_.below(1000)) * microsecond;
  }
  net_.refuses = [this](node_id) { return refusing_; };
}

void world::connect(node_id n, std::uint32_t incarnation) {
  nodes_[n].to = std::vector<connection>(plan_.nodes);
  for (node_id peer = 0; peer < plan_.nodes; ++peer) {
    if (peer == n) continue;
    auto options = plan_.link;
    options.self = n;
    options.peer = peer;
    options.incarnation = incarnation;
    connection& c = nodes_[n].to[peer];
    c.link = std::make_unique<wr::link>(options);
    if (random_.chance(0.3)) c.link->keep_probing(true);
    for (const lane l : both) {
      c.outgoing[index(l)] = record_stream(seed_, n, peer, l, plan_.link.datagram_bytes);
      c.incoming[index(l)] = record_stream(seed_, peer, n, l, plan_.link.datagram_bytes);
      c.target[index(l)] = random_.below(plan_.records_each + 1);
    }
  }
}

// --- the phases -------------------------------------------------------------------------------------------------------------------

std::optional<std::string> world::run() {
  faults();
  if (!failure_) replies_flow_while_requests_are_refused();
  if (!failure_) drain();
  if (!failure_ && plan_.restart) restart_is_noticed();
  return failure_;
}

void world::faults() {
  simulate(plan_.fault_time, [] { return false; });
  faulty_ = false;
  net_.end_faults();
  for (auto& n : nodes_) n.paused_until = n.refuses_until = 0;
}

// Nobody takes requests any more and everybody sends as many as the windows hold; the replies must get through all the same.
void world::replies_flow_while_requests_are_refused() {
  refusing_ = true;
  for_each_connection([&](node_id, node_id, connection& c) {
    c.target[0] = c.pushed[0] + 500 / (plan_.nodes - 1);
    c.target[1] = c.pushed[1] + 20;
  });
  bool all = false;
  simulate(now_ + reply_time, [&] {
    all = true;
    for_each_connection([&](node_id n, node_id peer, connection& c) {
      all = all && c.pushed[1] == c.target[1] && nodes_[peer].to[n].popped[1] == c.target[1];
    });
    return all;
  });
  if (!failure_ && !all) fail("replies did not get through while requests were refused");
  refusing_ = false;
  for_each_connection([&](node_id, node_id, connection& c) { c.target[0] = std::min(c.target[0], c.pushed[0] + 5); });
}

void world::drain() {
  simulate(now_ + drain_time, [&] { return drained(); });
  if (!failure_ && !drained()) fail("not everything was delivered and acknowledged, although the faults have ended");
}

bool world::drained() const {
  for (node_id n = 0; n < plan_.nodes; ++n)
    for (node_id peer = 0; peer < plan_.nodes; ++peer) {
      if (peer == n) continue;
      const connection& c = nodes_[n].to[peer];
      if (c.pushed != c.target || nodes_[peer].to[n].popped != c.pushed || !c.link->idle()) return false;
    }
  return true;
}

// A node comes back with nothing: its peers must say so, and must not take what it sends for the continuation of what it sent.
void world::restart_is_noticed() {
  const auto returned = static_cast<node_id>(random_.below(plan_.nodes));
  connect(returned, 77777);
  for (node_id peer = 0; peer < plan_.nodes; ++peer)
    if (peer != returned) {
      nodes_[returned].to[peer].target = {3, 3};
      ++nodes_[peer].to[returned].target[0];
    }
  bool noticed = false;
  simulate(now_ + drain_time, [&] {
    noticed = true;
    for (node_id peer = 0; peer < plan_.nodes; ++peer)
      if (peer != returned) noticed = noticed && nodes_[peer].to[returned].link->why(now_) == wr::end_cause::peer_restarted;
    return noticed;
  });
  if (!failure_ && !noticed) fail("a peer did not notice that a node had restarted");
}

// --- the machinery ----------------------------------------------------------------------------------------------------------------

template <typename Visit>
void world::for_each_connection(Visit visit) {
  for (node_id n = 0; n < plan_.nodes; ++n)
    for (node_id peer = 0; peer < plan_.nodes; ++peer)
      if (peer != n) visit(n, peer, nodes_[n].to[peer]);
}

template <typename Done>
void world::simulate(nanoseconds until, Done done) {
  while (!failure_ && !done()) {
    const nanoseconds next = std::max(now_, next_event());
    if (next > until) {
      now_ = until;
      return;
    }
    steps_at_now_ = next == now_ ? steps_at_now_ + 1 : 0;
    if (steps_at_now_ > most_steps_at_once) return fail("time stands still: a link is always due and never has anything to send");
    now_ = next;
    net_.deliver(now_, [&](node_id to, bytes datagram) {
      if (nodes_[to].inbox.size() < most_inbox) nodes_[to].inbox.emplace_back(datagram.begin(), datagram.end());
    });
    for (node_id n = 0; n < plan_.nodes && !failure_; ++n)
      if (nodes_[n].paused_until <= now_) step(n);
  }
}

nanoseconds world::next_event() const {
  nanoseconds first = net_.next();
  for (const auto& n : nodes_) {
    nanoseconds own = n.inbox.empty() ? n.wake_at : now_;
    for (const auto& c : n.to)
      if (c.link) own = std::min(own, c.link->deadline());
    first = std::min(first, std::max(own, n.paused_until));
  }
  return first;
}

void world::step(node_id n) {
  take_inbox(n);
  if (nodes_[n].wake_at <= now_) wake(n);
  if (!failure_) transmit(n);
  check_bounds(n);
}

void world::take_inbox(node_id n) {
  for (auto& datagram : nodes_[n].inbox) {
    const auto from = wr::claimed_source(datagram);
    if (!from || *from >= plan_.nodes || *from == n) continue;
    wr::link& l = *nodes_[n].to[*from].link;
    const auto verdict = l.receive(now_, datagram);
    note(static_cast<std::uint64_t>(verdict) << 32 | datagram.size());
    if (planted_ == plant::early_reuse) std::fill(datagram.begin(), datagram.end(), std::byte{0xdd});
    if (!random_.chance(faulty_ ? plan_.lazy_chance : 0)) consume(n, *from, random_.chance(0.8));
    if (failure_) return;
    l.settle();
    std::fill(datagram.begin(), datagram.end(), std::byte{0xdd});  // whatever still refers to it will be found out
  }
  nodes_[n].inbox.clear();
}

void world::consume(node_id n, node_id from, bool all) {
  connection& c = nodes_[n].to[from];
  for (const lane l : both) {
    if (l == lane::request && (refusing_ || now_ < nodes_[n].refuses_until)) continue;
    for (std::uint64_t left = all ? ~std::uint64_t{0} : random_.below(4); left != 0; --left) {
      const auto record = c.link->front(l);
      if (!record) break;
      const std::uint64_t number = c.popped[index(l)]++;
      if (!c.incoming[index(l)].is(number, *record))
        return fail(format("node %u got something else than record %llu of lane %zu from node %u", n,
                           static_cast<unsigned long long>(number), index(l), from));
      note(number << 8 | index(l));
      if (planted_ == plant::repeated_record && random_.chance(0.001)) continue;
      c.link->pop(l);
    }
  }
}

void world::wake(node_id n) {
  node& self = nodes_[n];
  self.wake_at = now_ + static_cast<nanoseconds>(random_.between(10, faulty_ ? 500 : 2000)) * microsecond;
  if (faulty_) misfortune(n);
  push_some(n);
  for (node_id peer = 0; peer < plan_.nodes && !failure_; ++peer)
    if (peer != n) consume(n, peer, random_.chance(0.5) || !faulty_);
}

void world::misfortune(node_id n) {
  const auto any_peer = [&] { return static_cast<node_id>((n + 1 + random_.below(plan_.nodes - 1)) % plan_.nodes); };
  const auto soon = [&] { return now_ + static_cast<nanoseconds>(random_.between(100, 20000)) * microsecond; };
  if (random_.chance(plan_.pause_chance)) nodes_[n].paused_until = soon();
  if (random_.chance(plan_.refuse_chance)) nodes_[n].refuses_until = soon();
  if (random_.chance(plan_.cut_chance)) net_.cut(n, any_peer(), soon());  // one direction only
  if (random_.chance(plan_.discard_chance))
    nodes_[n].to[any_peer()].link->discard(random_.chance(0.5) ? lane::request : lane::reply);
  if (random_.chance(plan_.mtu_chance)) {
    const node_id peer = any_peer();
    const std::size_t mtu = random_.between(wr::least_datagram_bytes, plan_.link.datagram_bytes);
    net_.mtu(n, peer, mtu);  // the sender learns of it when the next large datagram is refused
    if (random_.chance(0.3)) nodes_[n].to[peer].link->change_datagram_bytes(mtu);
  }
}

void world::push_some(node_id n) {
  for (node_id peer = 0; peer < plan_.nodes; ++peer) {
    if (peer == n) continue;
    connection& c = nodes_[n].to[peer];
    for (const lane l : both) {
      const std::size_t i = index(l);
      for (std::uint64_t left = random_.below(faulty_ ? 20 : 200); left != 0 && c.pushed[i] < c.target[i]; --left) {
        const bytes record = c.outgoing[i].record(c.pushed[i]);
        if (!c.link->room(l, record.size())) break;
        const std::size_t head = random_.below(record.size() + 1);
        c.link->push(l, record.first(head), record.subspan(head));
        ++c.pushed[i];
        if (random_.chance(0.02)) c.link->request_ack_now();
        if (random_.chance(0.02)) c.link->hurry();
      }
    }
  }
}

void world::transmit(node_id n) {
  for (node_id peer = 0; peer < plan_.nodes; ++peer) {
    if (peer == n) continue;
    wr::link& l = *nodes_[n].to[peer].link;
    wr::link::outgoing out;
    while (l.transmit(now_, out)) {
      note(weft::base::load<std::uint64_t>(out.header.data()));
      if (!net_.send(now_, n, peer, out.header, out.payload)) l.change_datagram_bytes(net_.mtu(n, peer));
    }
    const auto cause = l.why(now_);
    const bool expected = nodes_[peer].to[n].link->incarnation() == 77777 && cause == wr::end_cause::peer_restarted;
    if (cause != wr::end_cause::none && !expected)
      return fail(format("node %u gave up node %u: %s", n, peer, wr::to_string(cause)));
  }
}

void world::check_bounds(node_id n) {
  for (const auto& c : nodes_[n].to) {
    if (!c.link) continue;
    for (const lane l : both)
      if (c.link->send_bytes_held(l) > plan_.link.send_buffer_bytes[index(l)] ||
          c.link->receive_bytes_held(l) > plan_.link.receive_buffer_bytes[index(l)])
        return fail(format("node %u holds more than its buffers' bound on lane %zu: %zu to send, %zu received", n, index(l),
                           c.link->send_bytes_held(l), c.link->receive_bytes_held(l)));
  }
}

void world::note(std::uint64_t what) {
  trace_ = (trace_ ^ what ^ static_cast<std::uint64_t>(now_) << 1) * 0x100000001b3u;
  trace_ ^= trace_ >> 29;
}

void world::fail(std::string what) {
  if (!failure_) failure_ = format("at %.3f ms: %s", static_cast<double>(now_) / 1e6, what.c_str());
}

std::string world::summary() const {
  wr::link_statistics sum;
  std::uint64_t records = 0;
  for (const auto& n : nodes_)
    for (const auto& c : n.to) {
      if (!c.link) continue;
      const auto& s = c.link->statistics();
      sum.datagrams_out += s.datagrams_out;
      sum.retransmitted += s.retransmitted;
      sum.timeouts += s.timeouts;
      sum.losses_seen += s.losses_seen;
      sum.tail_probes += s.tail_probes;
      sum.pieces_out += s.pieces_out;
      sum.duplicates += s.duplicates;
      sum.stale_rounds += s.stale_rounds;
      sum.refused += s.refused;
      sum.rounds_announced += s.rounds_announced;
      sum.rejected[0] += s.all_rejected();
      records += s.records_in[0] + s.records_in[1];
    }
  const auto u = [](std::uint64_t v) { return static_cast<unsigned long long>(v); };
  return format(
      "%llu records in %llu datagrams, %.1f ms; again %llu (timeouts %llu, losses seen %llu, tail %llu), pieces %llu, duplicates "
      "%llu, "
      "stale rounds %llu, refused %llu, rounds %llu, rejected %llu",
      u(records), u(sum.datagrams_out), static_cast<double>(now_) / 1e6, u(sum.retransmitted), u(sum.timeouts), u(sum.losses_seen),
      u(sum.tail_probes), u(sum.pieces_out), u(sum.duplicates), u(sum.stale_rounds), u(sum.refused), u(sum.rounds_announced),
      u(sum.rejected[0]));
}

}  // namespace dst
