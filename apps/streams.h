// A stream of bytes from every node of a job to every other, over VMMC: what the message-passing and the sockets library are made of on
// SHRIMP (section 3).
//
// Every node has a ring for each other node, which that one writes into: by deliberate update, straight from the sender's memory, or by
// automatic update, copied into memory that is bound to the ring. Then it writes how much it has sent. The receiver copies the bytes out, and
// says that there is room again when it has read half a ring. Nobody is interrupted; who waits looks at its own memory.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <weft/weft.h>

namespace app {

class streams {
 public:
  // Together. By deliberate update, or by automatic update.
  streams(weft::job& job, weft::vmmc& v, bool automatic)
      : job_(job),
        automatic_(automatic),
        rings_(job.port().allocate(job.nodes() * ring_bytes).or_throw()),
        counts_(job.port().allocate(job.nodes() * sizeof(counts)).or_throw()),
        exported_rings_(v.export_memory("rings", rings_).or_throw()),
        exported_counts_(v.export_memory("counts", counts_).or_throw()) {
    for (weft::node_id n = 0; n < job.nodes(); ++n) {
      peer p{v.import_memory(n, "rings").or_throw(), v.import_memory(n, "counts").or_throw(), {}, {}, {}, 0};
      if (automatic && n != job.self()) {
        p.bound_ring = v.bind(p.rings, job.self() * ring_bytes, ring_bytes).or_throw();
        p.bound_counts = v.bind(p.counts, job.self() * sizeof(counts), sizeof(counts)).or_throw();
      }
      peers_.push_back(std::move(p));
    }
    job.meet();
  }

  weft::node_id self() const noexcept { return job_.self(); }
  weft::node_id nodes() const noexcept { return job_.nodes(); }

  // What there is room for, or what has come; how many bytes.
  std::size_t send_some(weft::node_id to, std::span<const std::byte> what) {
    peer& p = peers_[to];
    const std::size_t sent = p.mine.sent, room = ring_bytes - (sent - load(from(to).read));
    const std::size_t count = std::min({what.size(), room, ring_bytes - sent % ring_bytes});
    if (count == 0) return 0;
    if (automatic_) {
      std::memcpy(p.bound_ring.memory().data() + sent % ring_bytes, what.data(), count);
      p.bound_ring.flush().or_throw();
    } else {
      p.rings.update(self() * ring_bytes + sent % ring_bytes, what.first(count)).or_throw();
    }
    tell(to, &counts::sent, sent + count);
    return count;
  }
  std::size_t receive_some(weft::node_id source, std::span<std::byte> into) {
    peer& p = peers_[source];
    const std::size_t count =
        std::min({into.size(), static_cast<std::size_t>(load(from(source).sent) - p.read), ring_bytes - p.read % ring_bytes});
    if (count == 0) return 0;
    std::memcpy(into.data(), rings_.base + source * ring_bytes + p.read % ring_bytes, count);
    p.read += count;
    if (p.read - p.mine.read >= ring_bytes / 2) tell(source, &counts::read, p.read);
    return count;
  }
  bool has_something(weft::node_id source) const { return load(from(source).sent) != peers_[source].read; }

  void send(weft::node_id to, std::span<const std::byte> what) {
    while (true) {
      what = what.subspan(send_some(to, what));
      if (what.empty()) return;
      wait([&] { return load(from(to).read) + ring_bytes != peers_[to].mine.sent; });
    }
  }
  void receive(weft::node_id source, std::span<std::byte> into) {
    while (true) {
      into = into.subspan(receive_some(source, into));
      if (into.empty()) return;
      wait([&] { return has_something(source); });
    }
  }

  // To and from everybody at once, by node: however large, nobody waits for ever.
  void exchange(std::span<std::span<const std::byte>> out, std::span<std::span<std::byte>> in) {
    while (true) {
      bool moved = false, left = false;
      for (weft::node_id step = 1; step < nodes(); ++step) {  // not all to the same one at first
        const weft::node_id to = (self() + step) % nodes(), source = (self() + nodes() - step) % nodes();
        const std::size_t sent = send_some(to, out[to]), got = receive_some(source, in[source]);
        out[to] = out[to].subspan(sent);
        in[source] = in[source].subspan(got);
        moved |= sent + got != 0;
        left |= !out[to].empty() || !in[source].empty();
      }
      if (!left) return;
      if (!moved) wait([&] { return can_move(out, in); });
    }
  }

  template <typename Condition>
  void wait(Condition&& until) {
    job_.port().wait(until, std::chrono::minutes(5)).or_throw();
  }

 private:
  static constexpr std::size_t ring_bytes = 32 * 1024;

  // What a node writes into another's memory, of all bytes so far.
  struct counts {
    weft::word sent = 0, read = 0;
  };
  struct peer {
    weft::imported rings, counts;
    weft::binding bound_ring, bound_counts;
    streams::counts mine;  // what it has been told
    std::size_t read = 0;
  };

  static weft::word load(const weft::word& w) {
    return std::atomic_ref(const_cast<weft::word&>(w)).load(std::memory_order_acquire);  // pairs with the other node's update
  }
  const counts& from(weft::node_id n) const { return reinterpret_cast<const counts*>(counts_.base)[n]; }

  bool can_move(std::span<std::span<const std::byte>> out, std::span<std::span<std::byte>> in) const {
    for (weft::node_id n = 0; n < nodes(); ++n) {
      if (!out[n].empty() && load(from(n).read) + ring_bytes != peers_[n].mine.sent) return true;
      if (!in[n].empty() && has_something(n)) return true;
    }
    return false;
  }

  void tell(weft::node_id to, weft::word counts::*which, weft::word value) {
    peer& p = peers_[to];
    p.mine.*which = value;
    if (automatic_) {
      auto& there = *reinterpret_cast<counts*>(p.bound_counts.memory().data());
      std::atomic_ref(there.*which).store(value, std::memory_order_release);  // after the bytes
      p.bound_counts.flush().or_throw();
    } else {
      p.counts.update_value(self() * sizeof(counts) + (which == &counts::sent ? 0 : sizeof(weft::word)), value).or_throw();
    }
    job_.port().nudge(to).or_throw();
  }

  weft::job& job_;
  const bool automatic_;
  const weft::memory rings_, counts_;
  weft::exported exported_rings_, exported_counts_;
  std::vector<peer> peers_;
};

}  // namespace app
