// A simulated processor: a fiber that runs a node's program, with a clock of its own.
//
// Its references to shared memory come to refer(), which charges TLB, cache, buffers, bus and network for them. While its cache serves
// it, it may run a little ahead of the others (parameters::slack); before anything that others can see it takes its turn, which comes
// when no event is left that is earlier.
//
// Handlers of messages run in events, one at a time on a node. What they cost is stolen from the processor they interrupt; one that
// stands still works on them itself.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <weft/port.h>

#include "base/clock.h"
#include "testbed/fiber.h"
#include "sim/machine/automatic_updates.h"
#include "sim/machine/breakdown.h"
#include "sim/parts/cache.h"
#include "sim/parts/merge_buffer.h"
#include "sim/parts/packet.h"
#include "sim/parts/tlb.h"
#include "sim/parts/write_buffer.h"

namespace weft::sim {

class machine;
class machine_pages;

class processor {
 public:
  processor(machine& in, node_id self);

  node_id self() const noexcept { return self_; }
  cycles now() const noexcept { return now_; }

  // --- by its own program -----------------------------------------------------------------------------------------------------------

  void compute(cycles c) noexcept { now_ += c; }
  void refer(std::uint64_t offset, std::uint64_t size, bool write);  // of shared memory
  // Of native_memory, within a line; the offset is from the shared region's start. Where it is bound to another node's, all of a copy at once.
  void refer_native(std::uint64_t offset, bool write);
  void store_bound(std::uint64_t offset, std::uint64_t size);

  // As long as one lives, what runs is not the program: its instructions and references do not count by themselves.
  class outside_program {
   public:
    explicit outside_program(processor& p) noexcept : processor_(p) { ++p.outside_; }
    ~outside_program() { --processor_.outside_; }
    outside_program(const outside_program&) = delete;
    outside_program& operator=(const outside_program&) = delete;

   private:
    processor& processor_;
  };
  bool in_program() const noexcept { return outside_ == 0; }

  // --- by the code that runs on it --------------------------------------------------------------------------------------------------

  void spend(cost c, cycles amount) noexcept { now_ += amount, spent_.add(c, amount); }

  // Work that is done for this node, by the processor's own code or in a handler.
  void charge(cost c, cycles amount);

  void take_turn();

  // Waits until the condition holds, which is asked again after every wake(); false when `limit` has passed. What the time counts as is
  // known from what the node is doing (observe/activity.h).
  bool wait(condition until, base::nanoseconds limit);

  // Stands still until wake().
  void stand_still(cost as);

  // Its stores into bound memory leave before what it does next.
  void send_updates() { updates_.send_all(); }

  // Until all of its writes are where they belong.
  void flush();

  // A page and its twin are gone through, for making the twin or a diff (Cashmere 3: memory stall is counted apart from the instructions).
  // Lines that the cache lacks come from memory; the twin is never in it.
  void compare_with_twin(std::uint64_t page);

  // Forgets a page: its mapping and its lines.
  void purge(std::uint64_t page);

  // --- by events --------------------------------------------------------------------------------------------------------------------

  // Native memory was written by the interface: lines of it in the cache are out of date.
  void forget(const std::byte* at, std::size_t size);

  void wake();
  bool standing() const noexcept { return standing_; }
  // A handler runs, and applies diffs: when it is done.
  cycles interrupt(cycles arrives, cycles work, cycles applying_diffs);
  cycles handle(cycles arrives, cost c, cycles takes) noexcept;  // a piece of that
  // All handlers so far are done.
  cycles handlers_done() const noexcept;

  // --- by the machine ---------------------------------------------------------------------------------------------------------------

  void start(std::function<void()> body);
  void use(machine_pages& memory) noexcept { pages_ = &memory; }
  bool finished() const noexcept { return fiber_->finished(); }
  breakdown spent() const noexcept;
  std::uint64_t references() const noexcept { return references_; }
  std::uint64_t misses() const noexcept { return misses_; }

 private:
  void resume();
  void leave();
  void steal(cost c, cycles amount) noexcept;
  void absorb() noexcept { now_ += std::exchange(stolen_, 0); }
  static std::uint64_t frame_of(std::uint64_t page) noexcept;
  std::uint64_t native_page(std::uint64_t offset) const noexcept;
  void translate(std::uint64_t page);
  cycles trap_of(std::uint64_t page, bool write) const;
  void bring_in(std::uint64_t place);
  void fill(std::uint64_t offset);
  void fill_from_here();
  void written(std::uint64_t offset, std::uint64_t size);
  void pass_on(std::uint64_t offset, std::uint64_t size);
  void forward(std::uint64_t offset, std::uint64_t bytes);
  void update_home(node_id home, std::uint64_t offset, std::uint64_t bytes);
  cycles send_update(cycles at, node_id home, std::uint64_t bytes);
  void send_packet();
  void send_packet_later();

  machine& machine_;
  const node_id self_;
  const bool by_page_;  // whether a page is written through or back
  machine_pages* pages_ = nullptr;
  std::unique_ptr<testbed::fiber> fiber_;
  cycles now_ = 0;
  cycles stolen_ = 0;           // by handlers, since it last looked
  cycles handler_free_at_ = 0;  // its handlers run one at a time
  cycles diffs_in_stand_ = 0;   // handlers' time for diffs since it stands still
  bool standing_ = false, waking_ = false;
  std::uint64_t news_ = 0;   // how often it was to wake
  std::uint64_t stand_ = 0;  // which one: an alarm of an earlier one is stale

  tlb tlb_;
  cache cache_;
  write_buffer writes_;
  write_buffer fifo_;  // of the interface, for writes to other nodes; used where there is one
  merge_buffer merge_;
  packet packet_;
  bool packet_timed_ = false;  // whether an event looks after it
  automatic_updates updates_;
  // The cache is indexed by physical addresses, and frames are given to pages at random, as by a system that knows no page colours.
  std::uint64_t last_page_ = ~std::uint64_t{0}, frame_ = 0;  // the address of that page's frame
  std::uint64_t under_way_ = 0;                              // its writes to other nodes that are not there yet
  cycles performed_here_at_ = 0;                             // all writes to its own node are
  std::uint64_t references_ = 0, misses_ = 0;
  unsigned outside_ = 0;  // how deep it is in what is not the program
  breakdown spent_;       // without the total
};

}  // namespace weft::sim
