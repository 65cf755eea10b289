// What connects the simulated nodes: each one's bus, memory module and network interface, and what goes between them.
//
// Cashmere 3: a transaction is split at the points where it may have to wait, and each piece goes through the event queue. A message goes
// out through its node's interface, takes the network's latency, comes in through the other interface, and is written to memory or wakes
// a processor. Its bytes flow behind its head, so that a transfer is paid once.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include <weft/port.h>

#include "sim/parts/event_queue.h"
#include "sim/machine/parameters.h"
#include "sim/parts/resource.h"

namespace weft::sim {

struct node_hardware {
  resource bus, memory, out, in;
  std::uint64_t messages = 0, bytes = 0;  // sent
};

class network {
 public:
  network(event_queue& time, const parameters& p, node_id nodes) : time_(time), parameters_(p), nodes_(nodes) {}

  // Sends so many bytes; `then` runs when the head has arrived, with the time at which the last byte will be in. `now` may be a little
  // ahead of the queue's time, if it is the sending processor's. When the last byte has left.
  enum class what : std::uint8_t { message, update };  // a write that is forwarded is an update
  cycles travel(cycles now, node_id from, node_id to, std::uint64_t bytes, std::function<void(cycles all_in)> then,
                what sent = what::message);

  // A node's memory reads or writes so many bytes; when it is done.
  cycles access(cycles now, node_id at, std::uint64_t bytes, resource::from whom);

  // The same for an interface that moves a message from or to memory: `ready` when its first bytes are, `done` when all are. Where processor
  // and interface do not share the bus, it is taken for as long as the network takes for the bytes.
  struct moved {
    cycles ready, done;
  };
  moved move(cycles now, node_id at, std::uint64_t bytes, resource::from whom);

  // A processor tells its interface to send something, over the bus; when it has.
  cycles command(cycles now, node_id at);

  // The interface of `from` fetches a line of another node's memory.
  void fetch_line(cycles now, node_id from, node_id to, std::function<void()> done);

  // The interface of `from` writes some bytes into another node's memory. When they have left.
  cycles write(cycles now, node_id from, node_id to, std::uint64_t bytes, std::function<void()> done);

  const node_hardware& at(node_id n) const { return nodes_[n]; }

 private:
  event_queue& time_;
  const parameters& parameters_;
  std::vector<node_hardware> nodes_;
};

}  // namespace weft::sim
