// A port for simulated nodes: weft's own message port, on a transport that the scheduler moves.
//
// What the network is like, all within what weft/port.h promises:
//   messages   everything is a message that the other node must handle itself; it does not while it pauses (udp)
//   one_sided  puts, gets and atomic operations are done by the other node's network interface, some time later (ofi)
//   mapped     and at once, as stores and loads (shm)
//   datagrams  messages, carried by weft's own reliability protocol over a network that loses, repeats and reorders
//
// A channel is what goes from one node to another on one lane. Channels are in order; among them the scheduler chooses. They have
// little room now and then, so that senders have to wait.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "base/random.h"
#include "dst/coherence/scheduler.h"
#include "sim/machine/event_port.h"

namespace dst {

enum class network_style : std::uint8_t { messages, one_sided, mapped, datagrams };
const char* to_string(network_style s);

class sim_port;

using weft::sim::parcel;

// What carries parcels between ports.
class transport {
 public:
  virtual ~transport() = default;
  // False when there is no room now; the sender's node gets news when there is.
  virtual bool push(node_id from, node_id to, weft::lane l, parcel&& p) = 0;
  // The node may welcome requests now that it did not, or the other way round.
  virtual void refresh(node_id node) = 0;
  // What goes from one node to another on a lane stays where it is from now on, or from the next message of a kind on, until it is let go.
  // Not of datagrams.
  virtual void hold(node_id from, node_id to, weft::lane l, std::optional<weft::handler_id> kind) = 0;
  virtual void let_go(node_id from, node_id to, weft::lane l) = 0;
  virtual bool holds(node_id from, node_id to, weft::lane l) = 0;  // whether something does
};

// The nodes' ports and what connects them.
class sim_network {
 public:
  struct options {
    node_id nodes = 2;
    network_style style = network_style::messages;
    std::size_t room = 64;  // messages in a channel
    std::uint64_t seed = 1;
    double late = 0;  // chance that a thread is held up before it does something at another node
  };
  sim_network(const options& o, scheduler& s);
  ~sim_network();

  sim_port& port(node_id n) { return *ports_[n]; }
  scheduler& time() { return scheduler_; }
  const options& how() const { return options_; }
  transport& carrier() { return *carrier_; }
  void hold_up();  // the thread that runs

  // How many messages of a kind have gone from one node to another.
  std::uint64_t sent(weft::handler_id kind) const { return kind < sent_.size() ? sent_[kind] : 0; }
  void note_sent(weft::handler_id kind) { kind < sent_.size() ? void(++sent_[kind]) : void(); }

 private:
  const options options_;
  weft::base::random random_{options_.seed};
  scheduler& scheduler_;
  std::vector<std::unique_ptr<sim_port>> ports_;
  std::unique_ptr<transport> carrier_;
  std::array<std::uint64_t, weft::first_user_handler> sent_{};
};

class sim_port final : public weft::sim::event_port {
 public:
  sim_port(const weft::fabric::fabric_options& o, sim_network& in);

  // --- for the network: on no thread ------------------------------------------------------------------------------------------------

  void take(node_id source, weft::lane l, const parcel& p) { handle(source, l, p); }
  bool welcomes(weft::lane l) const { return l == weft::lane::reply || requests_welcome(); }

  // There is room again in a channel from here.
  void room();

  // --- weft::port ------------------------------------------------------------------------------------------------------------------

  const char* name() const noexcept override { return "sim"; }
  weft::capabilities can() const noexcept override;
  duration now() const override { return duration(network_.time().now()); }

  std::byte* mapped(node_id node, const weft::window& w) override;
  weft::status put(node_id node, const weft::window& w, std::uint64_t offset, weft::bytes source) override;
  weft::status put_runs(node_id node, const weft::window& w, std::span<const weft::run> runs) override;
  weft::result<weft::transfer> start_get(node_id node, const weft::window& w, std::uint64_t offset,
                                         weft::mutable_bytes into) override;
  weft::status fence(node_id node) override;
  using message_port::enqueue;
  weft::status enqueue(node_id node, const weft::queue& q, std::span<const weft::word> values) override;
  weft::result<std::size_t> dequeue(const weft::queue& q, std::span<weft::word> into) override;
  weft::status wait(weft::condition until, duration limit) override;
  bool poll() override;
  weft::status nudge(node_id node) override;

 private:
  bool direct(node_id node) const { return node != self() && network_.how().style == network_style::mapped; }
  void pause();  // another thread may go on

  weft::result<weft::word> atomic_operation(node_id node, const weft::window& w, std::uint64_t offset, atomic_kind kind,
                                            weft::word a, weft::word b) override;
  bool try_transmit(node_id node, weft::lane l, weft::handler_id id, std::span<const weft::word> words,
                    weft::bytes payload) override;
  void kick() override;

  sim_network& network_;
  actor own_work_;  // what this node has to do for itself
};

}  // namespace dst
