// The fabric for any network: FUNi's protocol over UDP. The reliability is the pure state machine of fabric/reliable, one link a peer;
// here are the socket, the clock, the threads and the sleeping.
//
// Threads. A peer's link is guarded by the peer's lock: threads that send push and transmit under it, the driver feeds arrivals under
// it, and hands records to handlers without it (only the driver takes records out, so nothing moves meanwhile).
//
// The communication thread stays out of the way of application threads that drive: while one of them has been driving lately it naps
// instead of waiting for the socket, because the kernel would wake it for every datagram. A thread that sleeps as driver also watches
// the clock for everybody; then the communication thread sleeps deeply and is woken when that thread lets go of the role.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "fabric/message_port.h"
#include "reliable/impair.h"
#include "reliable/link.h"
#include "fabric/udp/socket.h"

namespace weft::fabric::udp {

class udp_port final : public message_port {
 public:
  explicit udp_port(const fabric_options& options);
  ~udp_port() override;

  const char* name() const noexcept override { return "udp"; }
  capabilities can() const noexcept override {
    return {.mapped = false, .one_sided = false, .ordered = true, .multicast = false, .any_memory = true};
  }
  port_statistics statistics() const override;

  result<base::byte_buffer> open() override;
  status connect(std::span<const base::byte_buffer> cards) override;
  void close() override;

 private:
  struct peer {
    mutable os::spin_lock lock;  // guards all but `deadline`, `leftover` and `ended`
    std::optional<reliable::link> link;
    std::optional<reliable::impaired_path> path;  // when faults are injected
    destination where;
    std::atomic<base::nanoseconds> deadline{reliable::never};  // the link's, for a look without the lock
    std::atomic<bool> leftover{false};                         // the driver's: records wait until requests are welcome again
    bool ended = false;                                        // the driver's: its end has been told
    std::unique_ptr<std::byte[]> batch;                        // datagrams that leave together
    std::size_t unpolled = 0;                                  // bytes sent since a sender last looked for acknowledgements
  };

  bool try_transmit(node_id node, lane l, handler_id id, std::span<const word> words, bytes payload) override;
  std::size_t put_piece(node_id node, std::size_t size) override;
  void hurry() override;
  bool poll_transport() override;
  bool pending() override;
  void arm(sleeper who) override;
  void disarm() override;
  void block(sleeper who, base::nanoseconds limit) override;
  void kick() override;

  void accept(base::nanoseconds now, bytes datagram);
  bool deliver(node_id node, std::unique_lock<os::spin_lock>& held);
  void flush(peer& p, base::nanoseconds now);
  void flush_clean(peer& p, base::nanoseconds now);
  void flush_impaired(peer& p, base::nanoseconds now);
  void after_send(peer& p, datagram_socket::outcome how);
  void run_timers(base::nanoseconds now);
  void bury(node_id node, base::nanoseconds now);
  base::nanoseconds next_deadline() const;
  bool sleep(int event, bool with_socket, base::nanoseconds limit);  // whether it was rung
  void ring(int event);
  void drain();

  reliable::seal seal_;
  std::optional<reliable::impairment> impairment_;
  std::vector<address> addresses_;
  std::optional<datagram_socket> socket_;
  std::unique_ptr<peer[]> peers_;
  std::atomic<bool> holding_{false};         // a link may hold something back; relaxed, set by the thread that will hurry() itself
  std::vector<node_id> touched_;             // the driver's: peers that datagrams came from this turn
  std::atomic<std::uint64_t> strangers_{0};  // datagrams that claim to be from no node of this job
  std::atomic<std::uint64_t> receive_calls_{0};

  // Sleeping. `armed_` says who must be rung for news from inside this node (a `sleeper`).
  os::unique_fd application_event_, communication_event_;
  std::atomic<std::uint32_t> armed_{static_cast<std::uint32_t>(sleeper::communication)};
  std::atomic<bool> application_sleeps_{false};            // with the driver's role: it watches socket and clock
  std::atomic<bool> deep_{false};                          // the communication thread sleeps until it is rung
  std::atomic<base::nanoseconds> communication_until_{0};  // when the communication thread will look at the clock by itself
  std::atomic<base::nanoseconds> last_activity_{0};
  std::uint64_t seen_turns_ = 0;  // the communication thread's
  base::nanoseconds nap_ = 0;     // the communication thread's
};

}  // namespace weft::fabric::udp
