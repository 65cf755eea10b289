#include "dst/coherence/run.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "base/text.h"
#include "dst/coherence/choosers.h"
#include "dst/coherence/oracle.h"

namespace dst {

using weft::base::format;
using weft::base::microsecond;
using weft::base::millisecond;

namespace {

constexpr std::uint32_t all_nodes = unset;  // the barrier of all, to the oracle

class runner {
 public:
  runner(const program& p, const cluster_options& o, chooser& by, bool trace)
      : p_(p),
        cluster_(o, by),
        oracle_(p),
        random_(o.seed ^ 0x72756e),
        trace_(trace),
        bases_(p.arrays.size()),
        blocks_(p.places),
        signals_(p.objects),
        local_(p.nodes),
        ended_(p.nodes),
        told_(p.nodes),
        holders_only_(find_protocol(o.protocol).tells_holders_only) {}

  outcome go() {
    cluster_.run([this](cluster::node& n) { main_thread(n); });
    auto& t = cluster_.time();
    return {t.failure(), t.hash(), t.steps()};
  }

 private:
  using node = cluster::node;

  std::size_t threads_on(node_id n, bool loose) const {
    std::size_t count = 0;
    for (std::size_t t = 0; t < p_.threads.size(); ++t) count += p_.threads[t] == n && (loose || !p_.loose[t]);
    return count;
  }

  void main_thread(node& n) {
    for (std::size_t a = 0; a < p_.arrays.size(); ++a)
      bases_[a] =
          static_cast<std::byte*>(n.space().allocate_together(p_.arrays[a].bytes, weft::dsm::page_bytes, p_.arrays[a].where));
    std::uint32_t first = unset, number = 0;
    for (std::uint32_t t = 0; t < p_.threads.size(); ++t) {
      if (p_.threads[t] != n.id()) continue;
      if (first == unset)
        first = t;
      else
        cluster_.start(n, format("n%u.%u", n.id(), ++number), [this, &n, t] { program_thread(n, t); });
    }
    program_thread(n, first);
    look_at_everything(n);
  }

  void program_thread(node& n, std::uint32_t t) {
    for (const step& s : p_.steps[t]) {
      if (random_.chance(p_.pause_chance))
        cluster_.time().pause(n.id(), cluster_.time().now() + static_cast<nanoseconds>(random_.between(1, 30'000)) * microsecond);
      if (p_.loose[t] && random_.chance(0.5))  // so that it is still at work when the others are at their barriers
        cluster_.time().nap(static_cast<nanoseconds>(random_.between(1, 500)) * microsecond);
      if (trace_) std::printf("%12.6f ms  thread %u on node %u: %s\n", milliseconds(), t, n.id(), to_string(s).c_str());
      cluster_.time().doing(to_string(s));
      do_step(n, t, s);
      cluster_.time().progress();
    }
    cluster_.time().doing("at the end");
    cluster_.meet(ended_[n.id()], threads_on(n.id(), true), "waits for the node's other threads to end");
    if (!p_.loose[t]) barrier(n, false);
  }

  double milliseconds() { return static_cast<double>(cluster_.time().now()) / 1e6; }

  // A failure ends the run: the scheduler does not come back to a thread.
  void check(const std::optional<std::string>& wrong, node& n, std::uint32_t t, const step* s) {
    if (!wrong) return;
    cluster_.time().fail(format("at %.6f ms: thread %u on node %u, %s: %s", milliseconds(), t, n.id(),
                                s ? to_string(*s).c_str() : "at the end", wrong->c_str()));
    cluster_.time().yield();
  }

  // --- accesses -------------------------------------------------------------------------------------------------------------------

  static std::byte byte_of(std::uint64_t value, std::size_t i) {
    return value == 0 ? std::byte{0} : static_cast<std::byte>((value + i * 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u >> 56);
  }

  void read(node& n, std::uint32_t t, const step* s, std::uint32_t array, std::size_t offset, std::size_t size) {
    n.access(bases_[array] + offset, size, false, [&](std::byte* here, std::size_t at, std::size_t bytes) {
      check(oracle_.found(array, offset + at, here, bytes), n, t, s);
    });
  }

  void do_accesses(node& n, std::uint32_t t, const step& s) {
    for (const access& a : s.accesses) {
      const cell& c = p_.cells[a.cell];
      if (!a.write) {
        read(n, t, &s, c.array, c.offset, c.size);
        continue;
      }
      n.access(bases_[c.array] + c.offset, c.size, true, [&](std::byte* here, std::size_t at, std::size_t bytes) {
        for (std::size_t i = 0; i < bytes; ++i) here[i] = byte_of(a.value, at + i);
        oracle_.wrote(c.array, c.offset + at, here, bytes, t, s.unit);
      });
    }
  }

  // --- steps ----------------------------------------------------------------------------------------------------------------------

  void do_step(node& n, std::uint32_t t, const step& s) {
    auto& space = n.space();
    switch (s.kind) {
      case step_kind::touch: return do_accesses(n, t, s);
      case step_kind::section:
        if (!lock(n, t, s, s.object)) return;
        if (s.second == unset) {
          do_accesses(n, t, s);
        } else if (lock(n, t, s, s.second)) {
          do_accesses(n, t, s);
          unlock(n, s.second);
        }
        return unlock(n, s.object);
      case step_kind::shared:
        space.lock(cluster_.object(s.object), s.value != 0, weft::space::for_ever);
        check(oracle_.entered(s.object, s.value != 0), n, t, &s);
        do_accesses(n, t, s);
        oracle_.leaves(s.object, s.value != 0);
        return space.unlock(cluster_.object(s.object), s.value != 0);
      case step_kind::set:
        do_accesses(n, t, s);
        oracle_.adds(s.object, s.value);
        return space.store(cluster_.object(s.object), s.value);
      case step_kind::await:
        space.wait_at_least(cluster_.object(s.object), 1, weft::space::for_ever);
        check(oracle_.reached(s.object, 1), n, t, &s);
        return do_accesses(n, t, s);
      case step_kind::add:
        do_accesses(n, t, s);
        oracle_.adds(s.object, s.value);
        space.add(cluster_.object(s.object), s.value);
        return;
      case step_kind::await_count:
        space.wait_at_least(cluster_.object(s.object), s.value, weft::space::for_ever);
        check(oracle_.reached(s.object, s.value), n, t, &s);
        return do_accesses(n, t, s);
      case step_kind::group:
        do_accesses(n, t, s);
        oracle_.arrives(s.object, 0);
        space.barrier(cluster_.object(s.object), static_cast<std::uint32_t>(s.value));
        return check(oracle_.left(s.object, 0, s.value), n, t, &s);
      case step_kind::signal: return signal(n, t, s);
      case step_kind::receive: return receive(n, t, s);
      case step_kind::allocate: return allocate(n, t, s);
      case step_kind::give_back: return give_back(n, t, s);
      case step_kind::barrier: return barrier(n, p_.checkpoint[s.unit]);
    }
  }

  bool lock(node& n, std::uint32_t t, const step& s, std::uint32_t object) {
    auto& o = cluster_.object(object);
    const auto limit = s.way == lock_way::trying ? weft::space::duration(0) : std::chrono::microseconds(50);
    if (s.way == lock_way::plain)
      n.space().lock(o, weft::space::for_ever);
    else
      while (!n.space().lock(o, limit)) {
        if (s.way == lock_way::once) return false;
        cluster_.time().wait([] { return false; }, static_cast<nanoseconds>(random_.between(1, 200)) * microsecond,
                             "tries again soon");
      }
    check(oracle_.locked(object, t), n, t, &s);
    return true;
  }
  void unlock(node& n, std::uint32_t object) {
    oracle_.unlocks(object);
    n.space().unlock(cluster_.object(object));
  }

  void signal(node& n, std::uint32_t t, const step& s) {
    lock(n, t, s, s.second);
    do_accesses(n, t, s);
    signals_[s.object] = true;
    n.space().notify(cluster_.object(s.object), true);
    unlock(n, s.second);
  }
  void receive(node& n, std::uint32_t t, const step& s) {
    lock(n, t, s, s.second);
    while (!signals_[s.object]) {
      oracle_.unlocks(s.second);
      n.space().wait(cluster_.object(s.object), cluster_.object(s.second), weft::space::for_ever);
      check(oracle_.locked(s.second, t), n, t, &s);
    }
    do_accesses(n, t, s);
    unlock(n, s.second);
  }

  // --- blocks ---------------------------------------------------------------------------------------------------------------------

  void allocate(node& n, std::uint32_t t, const step& s) {
    auto* at = static_cast<std::byte*>(n.space().allocate(s.value, 16, {}));
    check(oracle_.allocated(static_cast<std::uint64_t>(at - weft::runtime::region_base), s.value), n, t, &s);
    n.access(at, s.value, true, [&](std::byte* here, std::size_t from, std::size_t bytes) {
      for (std::size_t i = 0; i < bytes; ++i) here[i] = byte_of(s.unit + 1, from + i);
    });
    blocks_[s.object] = {at, s.value, s.unit + 1};
  }
  void give_back(node& n, std::uint32_t t, const step& s) {
    const block b = blocks_[s.object];
    n.access(b.at, b.size, false, [&](std::byte* here, std::size_t from, std::size_t bytes) {
      for (std::size_t i = 0; i < bytes; ++i)
        if (here[i] != byte_of(b.value, from + i)) return check("a block that does not hold what was put into it", n, t, &s);
    });
    oracle_.frees(static_cast<std::uint64_t>(b.at - weft::runtime::region_base));
    n.space().release(b.at);
  }

  // --- barriers -------------------------------------------------------------------------------------------------------------------

  // The threads of a node meet first, but for loose ones; then one of them meets the other nodes.
  void barrier(node& n, bool checkpoint) {
    cluster_.meet(local_[n.id()].where, threads_on(n.id(), false), "waits for the node's other threads", [&] {
      const auto generation = local_[n.id()].barriers++;
      oracle_.arrives(all_nodes, generation);
      n.space().barrier();
      check(oracle_.left(all_nodes, generation, p_.nodes), n, 0, nullptr);
      if (checkpoint) cluster_.meet(checkpoint_, p_.nodes, "waits for the check", [&] { check_copies(); });
    });
    cluster_.time().progress();
  }

  // Everybody has left a barrier and nobody has gone on: whatever a node has must be what it is to see.
  void check_copies() {
    for (node_id id = 0; id < p_.nodes; ++id) {
      node& n = cluster_.at(id);
      check_notices(n);
      for (std::uint32_t a = 0; a < p_.arrays.size(); ++a)
        for (std::size_t offset = 0; offset < p_.arrays[a].bytes; offset += weft::dsm::page_bytes) {
          const auto page = static_cast<std::size_t>(bases_[a] + offset - weft::runtime::region_base) / weft::dsm::page_bytes;
          const std::byte* here = n.look(static_cast<weft::dsm::page_id>(page));
          if (!here) continue;
          const std::size_t size = std::min<std::size_t>(weft::dsm::page_bytes, p_.arrays[a].bytes - offset);
          if (auto wrong = oracle_.found(a, offset, here, size))
            check("a copy that was kept after a barrier: " + *wrong, n, 0, nullptr);
        }
    }
  }

  // A node that had no copies at the last check, and has asked for none since, has nothing to be told.
  void check_notices(node& n) {
    const auto now = n.space().statistics();
    auto& before = told_[n.id()];
    if (holders_only_ && before && before->fetched_pages == before->invalidated && now.fetched_pages == before->fetched_pages &&
        now.notices_in != before->notices_in)
      check("it has no copies, and is told of changes", n, 0, nullptr);
    before = now;
  }

  // Nobody writes any more, so it makes no difference who goes on within a page.
  void look_at_everything(node& n) {
    for (std::uint32_t a = 0; a < p_.arrays.size(); ++a) {
      const auto visit = [&](std::byte* here, std::size_t at, std::size_t bytes) {
        check(oracle_.found(a, at, here, bytes), n, 0, nullptr);
      };
      n.access(bases_[a], p_.arrays[a].bytes, false, visit, weft::dsm::page_bytes);
      cluster_.time().progress();
    }
    n.space().barrier();
  }

  struct block {
    std::byte* at = nullptr;
    std::uint64_t size = 0, value = 0;
  };
  struct local_barrier {
    cluster::meeting where;
    std::uint64_t barriers = 0;
  };

  const program& p_;
  cluster cluster_;
  oracle oracle_;
  weft::base::random random_;
  const bool trace_;
  std::vector<std::byte*> bases_;
  std::vector<block> blocks_;
  std::vector<bool> signals_;
  std::vector<local_barrier> local_;     // by node
  std::vector<cluster::meeting> ended_;  // by node
  cluster::meeting checkpoint_;
  std::vector<std::optional<weft::dsm::protocol_statistics>> told_;  // by node: at the last check
  const bool holders_only_;
};

}  // namespace

cluster_options surroundings(std::uint64_t seed, const std::string& protocol, node_id nodes) {
  weft::base::random r(seed ^ 0x776f726c64);
  cluster_options o;
  o.protocol = protocol;
  o.nodes = nodes;
  const auto style = r.below(10);
  o.network = style < 4 ? network_style::messages : style < 6 ? network_style::one_sided : network_style::mapped;
  if (style == 9 && nodes <= 6) o.network = network_style::datagrams;
  o.room = r.chance(0.2) ? r.between(1, 4) : 64;
  o.records_writes = r.chance(0.5);
  o.forgets = r.chance(0.2) ? 0.02 : 0;
  o.pages = 512;
  o.seed = seed;
  if (r.chance(0.85)) o.protocol_memory = std::size_t{1} << r.between(10, 12);  // so that there are collections
  if (r.chance(0.3)) o.naps = 0.1;
  if (r.chance(0.2)) o.late = 0.05;
  return o;
}

outcome run(const program& p, const cluster_options& o, chooser& by, bool trace) {
  return runner(p, o, by, trace).go();
}

outcome run_seed(const std::string& protocol, std::uint64_t seed) {
  const program p = program::random(seed);
  random_chooser by(seed);
  return run(p, surroundings(seed, protocol, p.nodes), by, false);
}

}  // namespace dst
