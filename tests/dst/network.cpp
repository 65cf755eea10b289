#include "dst/network.h"

#include <algorithm>

#include "reliable/wire.h"

namespace dst {

namespace wr = weft::reliable;
using weft::bytes;
using weft::node_id;

namespace {

constexpr std::size_t most_captured = 32;

wr::seal::key key_of_another_job() {
  wr::seal::key key;
  key.fill(std::byte{0x5a});
  return key;
}

}  // namespace

network::network(const network_options& options)
    : options_(options), random_(options.seed ^ 0x6e65745f), other_job_(key_of_another_job()) {
  for (node_id i = 0; i < options.nodes * options.nodes; ++i) {
    auto faults = options.faults, quiet = options.quiet;
    faults.seed = options.seed * 1000003 + i;
    quiet.seed = options.seed * 1000033 + i;
    paths_.emplace_back(faults, quiet, options.mtu);
  }
}

bool network::send(nanoseconds now, node_id from, node_id to, bytes header, bytes payload) {
  path& p = at(from, to);
  if (header.size() + payload.size() > p.mtu) return false;
  if (now < p.cut_until) return true;
  joined_.assign(header.begin(), header.end());
  joined_.insert(joined_.end(), payload.begin(), payload.end());
  if (options_.planted != plant::none && plant_bug(to, joined_)) return true;
  if (faulty_ && random_.chance(options_.adversary)) interfere(now, from, to, joined_);
  push(now, from, to, joined_);
  return true;
}

void network::push(nanoseconds now, node_id from, node_id to, bytes datagram) {
  path& p = at(from, to);
  (faulty_ ? p.impaired : p.clean).push(now, datagram);
}

// The adversary sees and sends everything, but has no key.
void network::interfere(nanoseconds now, node_id from, node_id to, bytes datagram) {
  const auto any = [&] { return static_cast<node_id>(random_.below(options_.nodes)); };
  if (captured_.size() < most_captured)
    captured_.emplace_back(datagram.begin(), datagram.end());
  else
    captured_[random_.below(most_captured)].assign(datagram.begin(), datagram.end());
  const auto& old = captured_[random_.below(captured_.size())];
  weft::base::byte_buffer forged(datagram.begin(), datagram.end());
  switch (random_.below(6)) {
    case 0: push(now, from, to, old); break;  // replayed where it was, or somewhere else
    case 1: push(now, any(), any(), old); break;
    case 2:
      for (auto& b : forged) b = static_cast<std::byte>(random_.next());
      break;
    case 3: forged[random_.below(wr::header_bytes)] ^= std::byte{1} << random_.below(8); break;
    case 4: {  // the other job's, with or without our group
      auto h = weft::base::load<wr::header>(forged.data());
      if (random_.chance(0.5)) h.group ^= 1;
      wr::header_buffer sealed;
      wr::format(h, bytes(forged).subspan(wr::header_bytes), other_job_, sealed);
      std::copy(sealed.begin(), sealed.end(), forged.begin());
      break;
    }
    default: {  // two datagrams spliced
      const std::size_t at_byte = random_.below(std::min(forged.size(), old.size()) + 1);
      forged.resize(at_byte);
      forged.insert(forged.end(), old.begin() + static_cast<std::ptrdiff_t>(at_byte), old.end());
    }
  }
  push(now, any(), to, forged);
}

// Whether the datagram disappears.
bool network::plant_bug(node_id to, weft::base::byte_buffer& datagram) {
  auto h = weft::base::load<wr::header>(datagram.data());
  const bool data = h.kind == wr::datagram_kind::data;
  switch (options_.planted) {
    case plant::black_hole: return data && h.lane == weft::lane::request && h.sequence == 5 && to == 0;
    case plant::blocked_replies: return data && h.lane == weft::lane::reply && refuses(to);
    case plant::resealed_damage:
      if (!data || !random_.chance(0.01) || datagram.size() < wr::header_bytes + 8) return false;
      datagram[wr::header_bytes + 5] ^= std::byte{1};
      break;
    case plant::invented_ack:
      if (!random_.chance(0.002)) return false;
      ++h.acks[random_.below(2)].next;
      break;
    default: return false;
  }
  wr::header_buffer sealed;
  wr::format(h, bytes(datagram).subspan(wr::header_bytes), *options_.sealer, sealed);
  std::copy(sealed.begin(), sealed.end(), datagram.begin());
  return false;
}

void network::deliver(nanoseconds now, const receiver& deliver_to) {
  for (node_id i = 0; i < paths_.size(); ++i) {
    while (auto d = paths_[i].impaired.pop_due(now)) deliver_to(i % options_.nodes, *d);
    while (auto d = paths_[i].clean.pop_due(now)) deliver_to(i % options_.nodes, *d);
  }
}

nanoseconds network::next() const {
  nanoseconds first = wr::impaired_path::never;
  for (const auto& p : paths_) first = std::min({first, p.impaired.deadline(), p.clean.deadline()});
  return first;
}

void network::end_faults() {
  faulty_ = false;
  for (auto& p : paths_) p.cut_until = 0;
}

}  // namespace dst
