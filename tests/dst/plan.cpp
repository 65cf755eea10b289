#include "base/text.h"
#include "dst/world.h"

namespace dst {

using weft::base::microsecond;
using weft::base::millisecond;
using weft::base::second;

namespace {

constexpr std::uint64_t job_group = 0x77656674;

wr::impairment choose_faults(weft::base::random& r) {
  constexpr double losses[] = {0, 0.001, 0.01, 0.05, 0.15, 0.30};
  wr::impairment f;
  f.loss = losses[r.below(std::size(losses))];
  f.duplicate = r.chance(0.5) ? r.unit() * 0.1 : 0;
  f.reorder = r.chance(0.5) ? r.unit() * 0.2 : 0;
  f.corrupt = r.chance(0.5) ? r.unit() * 0.05 : 0;
  f.delay = static_cast<nanoseconds>(r.between(1, 200)) * microsecond;
  f.jitter = r.chance(0.5) ? static_cast<nanoseconds>(r.below(300)) * microsecond : 0;
  return f;
}

wr::link_options choose_link(weft::base::random& r, const wr::seal& sealer) {
  constexpr std::size_t sizes[] = {640, 1000, 1232, 1472, 4096, 8972, 16384, 65507};
  constexpr std::size_t buffers[] = {256 << 10, 300 << 10, 512 << 10, 1 << 20};
  wr::link_options o;
  o.group = job_group;
  o.sealer = &sealer;
  o.datagram_bytes =
      r.chance(0.2) ? r.between(wr::least_datagram_bytes, wr::most_datagram_bytes) : sizes[r.below(std::size(sizes))];
  for (std::size_t l = 0; l < weft::lanes; ++l) {
    o.send_buffer_bytes[l] = buffers[r.below(std::size(buffers))];
    o.receive_buffer_bytes[l] = buffers[r.below(std::size(buffers))];
    if (r.chance(0.2))
      o.credit_bytes[l] = o.receive_buffer_bytes[l] * r.between(2, 4);
    else if (r.chance(0.1))
      o.credit_bytes[l] = wr::first_credit;
  }
  o.ack_delay = static_cast<nanoseconds>(r.between(0, 500)) * microsecond;
  o.min_retry = static_cast<nanoseconds>(r.between(300, 5000)) * microsecond;
  o.max_retry = static_cast<nanoseconds>(r.between(20, 300)) * millisecond;
  o.dead_after = 60 * second;
  o.probe_interval = static_cast<nanoseconds>(r.between(20, 1000)) * millisecond;
  return o;
}

}  // namespace

plan plan::from(std::uint64_t seed, const wr::seal& sealer, plant planted) {
  weft::base::random r(seed);
  plan p;
  p.nodes = static_cast<weft::node_id>(r.chance(0.6) ? 2 : r.between(3, 8));
  p.link = choose_link(r, sealer);
  p.net.nodes = p.nodes;
  p.net.faults = choose_faults(r);
  p.net.quiet.delay = p.net.faults.delay;
  p.net.adversary = r.chance(0.5) ? r.unit() * 0.1 : 0;
  p.net.mtu = p.link.datagram_bytes;
  p.net.seed = seed;
  p.net.group = job_group;
  p.net.sealer = &sealer;
  p.net.planted = planted;
  p.fault_time = static_cast<nanoseconds>(r.between(2, 60)) * millisecond;
  p.records_each = r.between(5, 400) / (p.nodes - 1);
  p.pause_chance = r.chance(0.3) ? 0.01 : 0;
  p.refuse_chance = r.chance(0.4) ? 0.02 : 0;
  p.mtu_chance = r.chance(0.3) ? 0.01 : 0;
  p.discard_chance = r.chance(0.4) ? 0.05 : 0;
  p.cut_chance = r.chance(0.3) ? 0.01 : 0;
  p.lazy_chance = r.chance(0.5) ? r.unit() * 0.5 : 0;
  p.restart = r.chance(0.1);
  return p;
}

std::string plan::text() const {
  return weft::base::format(
      "%u nodes, datagrams of %zu bytes, faults for %lld ms: %s; adversary %.1f%%, %llu records each; chances: pause %g refuse %g "
      "mtu %g "
      "discard %g cut %g lazy %.2f%s",
      nodes, link.datagram_bytes, static_cast<long long>(fault_time / millisecond), net.faults.text().c_str(), net.adversary * 100,
      static_cast<unsigned long long>(records_each), pause_chance, refuse_chance, mtu_chance, discard_chance, cut_chance,
      lazy_chance, restart ? "; a restart at the end" : "");
}

}  // namespace dst
