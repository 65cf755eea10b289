// A simulated node's port: weft's own message port, on the simulated network.
//
// With a memory-mapped interface, puts, gets, atomic operations and words of queues are performed by the other node's interface, and its
// processor is not disturbed. Without one, everything is a message, and costs software at both ends and an interrupt.
//
// Memory that the port allocates for the program is native_memory. mapped() gives memory of this node that is bound to the other's: stores
// travel, loads find what this node has stored.
#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "sim/machine/event_port.h"
#include "sim/machine/processor.h"
#include "sim/parts/write_buffer.h"

namespace weft::sim {

class machine_port final : public event_port {
 public:
  machine_port(const weft::fabric::fabric_options& o, machine& in);

  const char* name() const noexcept override { return "simulated"; }
  capabilities can() const noexcept override;
  duration now() const override;
  result<memory> allocate(std::size_t size) override;
  std::byte* mapped(node_id node, const window& w) override;

  using event_port::enqueue;
  status enqueue(node_id node, const queue& q, std::span<const word> values) override;
  result<std::size_t> dequeue(const queue& q, std::span<word> into) override;
  result<transfer> start_get(node_id node, const window& w, std::uint64_t offset, mutable_bytes into) override;
  status wait(condition until, duration limit) override;
  bool poll() override;
  status nudge(node_id node) override;

  // A packet of automatic updates, for memory of another node; when it has left.
  cycles send_update(cycles now, node_id node, std::byte* there, bytes what);

 private:
  bool try_transmit(node_id node, lane l, handler_id id, std::span<const word> words, bytes payload) override;
  result<word> atomic_operation(node_id node, const window& w, std::uint64_t offset, atomic_kind kind, word a, word b) override;
  void kick() override;
  std::size_t put_piece(node_id, std::size_t) override;

  enum class sent_by : std::uint8_t {
    software,           // at both ends
    deliberate_update,  // the interface moves it from memory to memory
    interface,          // the interface does it all
  };
  sent_by how(handler_id id) const;
  void note_fetch(node_id from, std::span<const word> words);
  cycles hand_over(sent_by by, std::uint64_t moved, std::uint64_t notices);
  void arrive(node_id source, lane l, const std::shared_ptr<parcel>& p, cycles all_in);
  void arrive(node_id source, std::byte* there, const std::shared_ptr<std::vector<std::byte>>& what, cycles all_in);
  void forget_lines(std::span<const word> words, std::size_t size);
  // What a message counts for: the notices that it brings, told with its last piece, and bytes of its payload.
  struct tally {
    std::uint64_t notices, bytes;
  };
  tally count(node_id node, handler_id id, std::span<const word> words, bytes payload);
  cycles applying_diffs(const parcel& p) const;
  cycles wait_for_room();
  bool by_interface(handler_id id) const;
  processor& own() const;
  bool on_processor() const;  // whether its own processor calls, and not a handler

  machine& machine_;
  bool kicked_ = false;
  std::map<std::pair<node_id, handler_id>, std::vector<std::byte>> growing_;  // what has been sent of a parcel
  write_buffer sends_;             // by software and by deliberate update that have not left; used where there is a bound
  std::vector<cycles> last_from_;  // by node and lane: when the last one was performed here; they stay in order
  std::map<std::uint64_t, std::byte*> bound_;  // by capability: memory of this node that is bound to such a window
};

}  // namespace weft::sim
