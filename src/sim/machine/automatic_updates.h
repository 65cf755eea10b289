// Automatic updates on their way out of a node (SHRIMP 2.3): the interface sees a processor's stores into bound memory on the bus. Each is a
// packet of its own, or with combining those that follow one another within a page are one (4.5.1).
//
// The program says that it stores before it does, except where that is atomic. So a store is taken to have been made when its processor's code
// is next heard of, and what is in memory then goes into a packet. A packet that may still grow leaves with the next store elsewhere, when its
// processor waits or sends something else, or after some time (parameters::combining_time).
#pragma once

#include <cstdint>
#include <vector>

#include "sim/parts/event_queue.h"
#include "sim/machine/native_memory.h"
#include "sim/parts/write_buffer.h"

namespace weft::sim {

class machine;
class processor;

class automatic_updates {
 public:
  automatic_updates(machine& in, processor& of);

  // By offset from the shared region's start.
  void store(const native_memory::binding& where, std::uint64_t offset, std::uint64_t size);

  // Stores up to now are made: the interface sees them. What the processor has to wait for counts as cache stall.
  void see() {
    if (unseen_.where) pass_unseen();
  }

  // And all of them have left.
  void send_all();

 private:
  struct stores {
    const native_memory::binding* where = nullptr;
    std::uint64_t first = 0, last = 0;
    cycles at = 0;
  };
  void pass_unseen();
  cycles pass(const native_memory::binding& where, std::uint64_t first, std::uint64_t last, cycles at);
  cycles send_packet(cycles at);
  void send_later();

  machine& machine_;
  processor& processor_;
  const bool combines_;
  write_buffer local_, fifo_;  // bound memory is written through; a packet waits for the network
  stores unseen_;

  // The packet that may still grow.
  const native_memory::binding* where_ = nullptr;  // null: there is none
  std::uint64_t next_ = 0;                         // the offset behind its last byte
  std::vector<std::byte> packet_;
  cycles grown_at_ = 0;  // when it last grew
  bool timed_ = false;   // whether an event looks after it
};

}  // namespace weft::sim
