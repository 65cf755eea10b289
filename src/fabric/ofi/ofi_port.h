// The fabric over libfabric: InfiniBand, RoCE, EFA, Slingshot, and tcp or shm where there is no such hardware.
//
// One reliable-datagram endpoint a node. Messages are cut into frames with credits for each lane (frame.h), so a full request lane takes
// nothing from the reply lane. Puts, gets and atomics are remote memory access where the provider has it, and messages (as message_port
// does them) where it has not, or where the provider would only do the same with the destination's thread.
//
// Order. The contract's order is the provider's own where it states one (plan.h). Where it does not, an operation that could overtake
// waits, before it is issued, until those under way to that node have completed: a counter a peer. Puts and words that went as messages
// are performed when the destination handles them, so remote memory access must not follow them blindly: until a round trip has shown
// them settled, what follows goes as messages too.
//
// Windows. What a peer needs to reach a window (key and address) is asked for at first use and kept, in the exporter's own words, by
// which every access is checked. Revoking asks everybody who was told to forget it and waits until they have: so no access is under way
// when the registration is closed, which matters because providers answer a stale key by breaking the connection.
//
// Threads: as for every port. What the driver alone touches says so.
#pragma once

#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "fabric/message_port.h"
#include "fabric/ofi/bell.h"
#include "fabric/ofi/endpoint.h"
#include "fabric/ofi/peer.h"

namespace weft::fabric::ofi {

// A get by remote memory access.
struct get_entry {
  node_id node = 0;
  weft::window window;
  std::uint64_t offset = 0;
  mutable_bytes into;
  bool direct = true;                       // the provider writes into `into` itself
  region local;                             // of `into`, where it had to be registered
  std::size_t asked = 0;                    // bytes; the requester's
  std::atomic<std::uint32_t> under_way{0};  // reads
  std::atomic<int> error{0};
  std::atomic<bool> abandoned{false};  // whoever turns it back frees the entry
  std::uint32_t generation = 0;
};

class ofi_port final : public message_port {
 public:
  explicit ofi_port(const fabric_options& options);
  ~ofi_port() override;

  const char* name() const noexcept override { return "ofi"; }
  capabilities can() const noexcept override;
  port_statistics statistics() const override;

  result<base::byte_buffer> open() override;
  status connect(std::span<const base::byte_buffer> cards) override;
  void close() override;

  result<window> expose(const memory& m, rights allowed) override;
  status revoke(const window& w) override;

  status put(node_id node, const window& w, std::uint64_t offset, bytes source) override;
  status put_runs(node_id node, const window& w, std::span<const run> runs) override;
  result<transfer> start_get(node_id node, const window& w, std::uint64_t offset, mutable_bytes into) override;
  bool done(const transfer& t) override;
  status finish(const transfer& t) override;
  status fence(node_id node) override;

  // The provider in use, for `weft doctor`; after open().
  const char* provider() const noexcept { return endpoint_.info().fabric_attr->prov_name; }

 private:
  // weft's own handlers that only this fabric has. Numbers are part of the wire format.
  enum : handler_id {
    describe = 32,     // window, capability, token
    description = 33,  // token, window, capability, size, rights, keyed, key, address
    refusal = 34,      // token, code
    withdraw = 35,     // window, capability, token
    withdrawn = 36,    // token
  };

  // What became of an attempt to issue remote memory access.
  enum class posted : std::uint8_t { yes, not_now, gone, serve };
  enum class route : std::uint8_t { remote_memory, message };

  // A question to another node that has not been answered.
  struct inquiry {
    node_id node = 0;
    std::atomic<bool> answered{false};
    bool refused = false;
  };

  struct exported {
    region where;
    std::vector<node_id> told;
  };

  // A request that arrived while requests have to wait. Holds the frame it came in, or its bytes where it came in several.
  struct parked {
    frame_header header;
    operation* frame = nullptr;
    base::byte_buffer body;
  };

  // What was issued to a node when a served operation was: its answer settles that much.
  struct snapshot {
    node_id node = 0;
    std::uint64_t served = 0, sent = 0;
  };

  // --- bringing up: ofi_port.cpp ---
  status prepare_buffers(std::size_t sends, std::size_t receives);
  status attach(node_id node, const base::byte_buffer& card, base::byte_buffer& address);
  void register_handlers();
  const ofi::plan& plan() const noexcept { return endpoint_.plan(); }

  // --- messages out: transmit.cpp ---
  bool try_transmit(node_id node, lane l, handler_id id, std::span<const word> words, bytes payload) override;
  bool clear_to_send(const peer& p) const noexcept;
  frame_header header_for(peer& p, lane l);
  bool inject_message(peer& p, frame_header h, std::span<const word> words, bytes payload);
  bool post_message(node_id node, frame_header h, std::size_t frames, std::span<const word> words, bytes payload);
  bool post_frame(peer& p, operation* o);
  bool flush_unsent();
  void return_credits();
  bool send_control(peer& p, std::uint16_t flags);
  void note(peer& p, std::int64_t code) noexcept;
  void ring(peer& p) noexcept {
    if (p.bell) p.bell.ring();
  }

  // --- what arrives: receive.cpp; all of it the driver's ---
  bool poll_transport() override;
  std::int64_t next_completions(std::span<fi_cq_msg_entry> into);
  void complete(const fi_cq_msg_entry& e);
  void complete_with_error();
  void finish_operation(operation& o, int error);
  void take_frame(operation& o, std::size_t length);
  bool well_formed(const frame_header& h, std::size_t length) const noexcept;
  void take_in_order(operation& o);
  void deliver(const frame_header& h, operation* frame, base::byte_buffer body);
  void hand_over(const frame_header& h, const std::byte* body);
  bool deliver_parked();
  void post_receive(operation& o);
  void report_errors();
  void lose(node_id node, const std::string& how);

  // --- windows: windows.cpp ---
  void serve_describe(const message& m);
  void take_description(const message& m);
  void take_refusal_of_window(const message& m);
  void serve_withdraw(const message& m);
  void take_withdrawn(const message& m);
  word open_inquiry(inquiry& q);
  void close_inquiry(word token);
  result<route> reach(node_id node, const window& w, std::uint64_t offset, std::size_t size, rights need);
  const remote_window* known(const peer& p, const window& w) const noexcept;

  // --- one-sided operations: one_sided.cpp, gets.cpp ---
  bool suits_remote_write(std::size_t size) const noexcept;
  bool suits_copying(std::size_t size) const noexcept;
  status put_remotely(node_id node, const window& w, std::uint64_t offset, bytes source);
  status put_directly(node_id node, const window& w, std::uint64_t offset, bytes source);
  posted post_write(node_id node, const window& w, std::uint64_t offset, bytes piece, operation* awaited, void* descriptor,
                    bool first);
  bool owes_messages(node_id node) const noexcept;
  status settle(node_id node);
  snapshot snapshot_of(node_id node) const noexcept;
  void settle(const snapshot& s) noexcept;
  status take_deferred(node_id node);
  status flush_by_read(node_id node);
  status await(operation* o, const char* what);
  result<word> atomic_operation(node_id node, const window& w, std::uint64_t offset, atomic_kind kind, word a, word b) override;
  static endpoint::atomic_operation providers_operation(atomic_kind kind);
  result<word> atomic_remotely(node_id node, const window& w, std::uint64_t offset, atomic_kind kind, word a, word b);

  get_entry* open_get(node_id node);
  void close_get(get_entry* e);
  status prepare_get(get_entry& e);
  posted ask_piece(get_entry& e);
  posted ask_more(get_entry& e);
  posted post_read(get_entry& e, operation& o, std::uint64_t offset, mutable_bytes into, void* descriptor);
  void take_read(operation& o, int error);
  static bool finished(const get_entry& e) noexcept;
  get_entry* get_of(const transfer& t) noexcept;
  status abandon(get_entry* e, status why);

  // --- sleeping: sleep.cpp ---
  bool pending() override;
  void arm(sleeper who) override;
  void disarm() override;
  void block(sleeper who, base::nanoseconds limit) override;
  void kick() override;
  void wake(sleeper who);
  void block_on_bell(sleeper who, base::nanoseconds limit);
  void block_on_queue(sleeper who, base::nanoseconds limit);
  void nap(sleeper who, base::nanoseconds limit);
  void sleep_on_events(sleeper who, bool with_queue, base::nanoseconds limit);

  // --- liveness: liveness.cpp ---
  void watch(std::stop_token stop);
  void stand_in();
  void stash_completions();
  std::int64_t read_queue(std::span<fi_cq_msg_entry> into);
  void look_after(node_id node, bool always, base::nanoseconds now);

  static constexpr std::size_t most_gets = 256;
  static constexpr word get_mark = word{1} << 31;  // in a transfer's token: message_port's own have small numbers there

  std::size_t inject_limit_ = 0;  // bytes of a frame or put that are injected
  endpoint endpoint_;
  std::unique_ptr<peer[]> peers_;
  operation_pool operations_;  // sends, reads, writes, atomics
  operation_pool receives_;
  region operations_region_, receives_region_;  // where local buffers are registered
  memory flush_memory_;                         // a word that peers read to flush their writes
  region flush_region_;

  std::mutex completions_lock_;         // guards reading the queue, and stash_
  std::vector<fi_cq_msg_entry> stash_;  // read by somebody else than the driver
  bool stashed_error_ = false;          // likewise

  // The driver's.
  std::deque<parked> parked_;         // at most the credits of all peers
  std::vector<operation*> unposted_;  // receives that the provider had no room for

  std::atomic<std::size_t> unsent_frames_{0};  // in all peers' unsent; relaxed, the locks order the contents
  std::atomic<bool> control_due_{false};       // some peer is owed credits or a pong
  std::atomic<bool> errors_{false};            // some peer's `error` is set
  std::atomic<bool> congested_{false};         // the provider had no room a moment ago: sleep briefly only
  std::atomic<std::uint64_t> rejected_{0};     // frames that were not this job's

  std::mutex exports_lock_;                              // guards exports_
  std::unordered_map<std::uint64_t, exported> exports_;  // by capability
  std::mutex inquiries_lock_;                            // guards inquiries_ and next_inquiry_
  std::unordered_map<word, inquiry*> inquiries_;
  word next_inquiry_ = 1;

  std::mutex gets_lock_;  // guards free_gets_
  std::unique_ptr<std::array<get_entry, most_gets>> gets_;
  std::vector<std::uint16_t> free_gets_;
  std::array<snapshot, reply_table::most> snapshots_{};  // by message_port's token; the requester's

  // Sleeping.
  bell bell_;                            // this node's own, where there is no descriptor to wait on
  std::array<os::unique_fd, 3> events_;  // by sleeper: what kick() writes to
  std::array<std::atomic<bool>, 3> kicked_{}, asleep_{};
  std::atomic<bool> resting_{false};                // the communication thread sleeps until pending() wakes it
  std::uint64_t seen_turns_ = 0;                    // the communication thread's
  std::array<base::nanoseconds, 3> quiet_since_{};  // by sleeper, theirs: for naps that grow
  std::atomic<std::uint64_t> busy_{0};              // turns that found something
  std::array<std::uint64_t, 3> seen_busy_{};
  std::atomic<bool> driver_sleeps_{false};  // an application thread does, in block()

  std::atomic<std::uint64_t> turns_{0};  // the driver's looks at the queue
  std::jthread watch_;                   // last: ends before everything that it uses
};

}  // namespace weft::fabric::ofi
