// What the runtime sees of a fabric: a port, and how it is brought up and down.
//
// Bringing up takes two steps because nodes must tell each other where they are: open() makes what this node needs and returns its
// card; the runtime carries every node's card to every node; connect() takes them all. After that the port works.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <weft/port.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "os/spin.h"

namespace weft::fabric {

struct fabric_options {
  node_id self = 0;
  node_id nodes = 1;
  std::uint64_t group = 0;                          // the job's group id
  std::array<std::byte, 16> key{};                  // the job's secret
  node_id nodes_on_host = 1;                        // how many of the nodes share this host's cores
  bool share_cores = false;                         // they share them with others as well, whose work waits must not delay
  bool lock_memory = false;                         // keep windows in physical memory, as RDMA would
  std::string impair;                               // datagram faults to inject (udp)
  std::uint16_t first_port = 0;                     // udp: node i binds first_port + i; 0: any port
  std::string interface;                            // udp, ofi: address range (CIDR) or interface name to use
  bool one_host = true;                             // all nodes are on this host
  std::string provider;                             // ofi: the libfabric provider, "" for the best
  base::nanoseconds dead_after = 3 * base::second;  // silence after which a node counts as unreachable
};

os::spin_policy choose_spin_policy(const fabric_options& options);

class fabric : public port {
 public:
  using unreachable_callback = std::function<void(node_id, const std::string& how)>;

  virtual result<base::byte_buffer> open() = 0;
  virtual status connect(std::span<const base::byte_buffer> cards) = 0;

  // Stops the communication thread; nothing is served afterwards. Called once, by the thread that opened.
  virtual void close() = 0;

  // Called, on whichever thread drives, when the fabric itself finds a node unreachable. Set before connect().
  void on_unreachable(unreachable_callback callback) { unreachable_ = std::move(callback); }

 protected:
  using port::port;
  void tell_unreachable(node_id node, const std::string& how) {
    if (unreachable_) unreachable_(node, how);
  }

 private:
  unreachable_callback unreachable_;
};

}  // namespace weft::fabric
