// The simulated network: one impaired path for each ordered pair of nodes, an MTU and a cut for each, and an adversary without the key
// who replays, redirects and invents datagrams.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include <weft/port.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/random.h"
#include "dst/plant.h"
#include "reliable/impair.h"
#include "reliable/seal.h"

namespace dst {

using weft::base::nanoseconds;

struct network_options {
  weft::node_id nodes = 2;
  weft::reliable::impairment faults;  // while they last
  weft::reliable::impairment quiet;   // afterwards: delay only
  double adversary = 0;               // share of datagrams that provoke one of the adversary's
  std::size_t mtu = 65507;
  std::uint64_t seed = 1;
  std::uint64_t group = 0;
  const weft::reliable::seal* sealer = nullptr;  // for planted bugs only
  dst::plant planted = plant::none;
};

class network {
 public:
  explicit network(const network_options& options);

  // Takes a datagram; false if it is larger than the path's MTU, as the sender's kernel would say.
  bool send(nanoseconds now, weft::node_id from, weft::node_id to, weft::bytes header, weft::bytes payload);

  // Hands every datagram that is due to its destination.
  using receiver = std::function<void(weft::node_id to, weft::bytes datagram)>;
  void deliver(nanoseconds now, const receiver& deliver_to);

  nanoseconds next() const;

  void cut(weft::node_id from, weft::node_id to, nanoseconds until) { at(from, to).cut_until = until; }
  void mtu(weft::node_id from, weft::node_id to, std::size_t bytes) { at(from, to).mtu = bytes; }
  std::size_t mtu(weft::node_id from, weft::node_id to) const { return paths_[from * options_.nodes + to].mtu; }
  void end_faults();

  // For blocked_replies: which node refuses requests now.
  std::function<bool(weft::node_id)> refuses = [](weft::node_id) { return false; };

 private:
  struct path {
    explicit path(const weft::reliable::impairment& faults, const weft::reliable::impairment& quiet, std::size_t bytes)
        : impaired(faults), clean(quiet), mtu(bytes) {}
    weft::reliable::impaired_path impaired, clean;
    std::size_t mtu;
    nanoseconds cut_until = 0;
  };

  path& at(weft::node_id from, weft::node_id to) { return paths_[from * options_.nodes + to]; }
  void push(nanoseconds now, weft::node_id from, weft::node_id to, weft::bytes datagram);
  void interfere(nanoseconds now, weft::node_id from, weft::node_id to, weft::bytes datagram);
  bool plant_bug(weft::node_id to, weft::base::byte_buffer& datagram);

  network_options options_;
  std::vector<path> paths_;
  weft::base::random random_;
  std::vector<weft::base::byte_buffer> captured_;  // by the adversary; a few
  weft::base::byte_buffer joined_;
  weft::reliable::seal other_job_;
  bool faulty_ = true;
};

}  // namespace dst
