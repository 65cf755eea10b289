// Many senders and one consumer: ways to tell a node that something has arrived for it (Telegraphos, sections 1 and 2), by the number of
// senders. Node 0 consumes, the others send; the words of all senders together are timed.
#pragma once

#include <functional>
#include <vector>

#include <weft/job.h>

#include "bench/sides/arena.h"
#include "bench/harness/schedule.h"

namespace weft::bench {

class crowd {
 public:
  explicit crowd(job& all);

  // Collective. The consumer's is complete; the senders' is empty.
  measurements measure(const settings& how, const std::function<void(const item&)>& step);

  // For the ways.
  weft::port& at() { return port_; }
  node_id senders() const { return port_.nodes() - 1; }
  node_id sender() const { return port_.self() - 1; }  // of this node: from 0
  const window& window_of(node_id node) const { return windows_[node]; }
  const queue& their_queue() const { return queues_[0]; }
  word& word_here(std::size_t index) { return reinterpret_cast<word*>(memory_.base)[index]; }

  // Until the condition holds: drives the port, and gives the core away when there is nothing to do. The same for every way.
  void until(condition holds);

 private:
  double run(std::size_t way, std::uint64_t count);  // the consumer's: nanoseconds
  std::uint64_t calibrate(std::size_t way, double wanted);
  void obey();  // a sender's: until there are no more orders

  weft::port& port_;
  shared_arena shared_;
  memory memory_;
  std::vector<window> windows_;
  std::vector<queue> queues_;
};

}  // namespace weft::bench
