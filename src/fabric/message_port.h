// A port made of messages: everything a Port promises, given only a transport that moves messages in order on two lanes.
//
// One-sided operations become small messages to handlers of weft's own, performed by the destination's driving thread. A transport
// that can do better (shm: stores; ofi: RDMA) overrides the operation. So the remote operations exist once, and what a fabric adds is
// speed.
//
// Why handlers cannot deadlock. A handler's sends never wait: what the transport has no room for goes onto the backlog of its lane. While
// replies wait there, no further requests are dispatched; replies are, so the reply lane always drains and the backlog goes out. Puts and
// words of handlers are requests themselves: two nodes that both hold such would wait for each other for ever if they stopped dispatching
// requests, so they go on until half of the backlog's bound. That ends: application threads send nothing new meanwhile, and what puts and
// words do at their destination sends nothing.
#pragma once

#include <atomic>
#include <deque>
#include <mutex>
#include <vector>

#include "base/counters.h"
#include "base/growing_array.h"
#include "fabric/driver.h"
#include "fabric/fabric.h"
#include "fabric/reply_table.h"
#include "fabric/window_table.h"
#include "fabric/word_queue.h"
#include "os/memory_file.h"

namespace weft::fabric {

class message_port : public fabric, protected driven {
 public:
  port_statistics statistics() const override;
  capabilities can() const noexcept override { return {}; }

  result<memory> allocate(std::size_t size) override;
  result<window> expose(const memory& m, rights allowed) override;
  status revoke(const window& w) override;
  std::byte* mapped(node_id node, const window& w) override;

  status put(node_id node, const window& w, std::uint64_t offset, bytes source) override;
  status put_runs(node_id node, const window& w, std::span<const run> runs) override;
  status multicast_put(std::span<const window_at> to, std::uint64_t offset, bytes source) override;
  result<transfer> start_get(node_id node, const window& w, std::uint64_t offset, mutable_bytes into) override;
  bool done(const transfer& t) override;
  status finish(const transfer& t) override;
  result<word> fetch_add(node_id node, const window& w, std::uint64_t offset, word operand) final;
  result<word> swap(node_id node, const window& w, std::uint64_t offset, word desired) final;
  result<word> compare_swap(node_id node, const window& w, std::uint64_t offset, word expected, word desired) final;
  result<word> fetch_and(node_id node, const window& w, std::uint64_t offset, word operand) final;
  result<word> fetch_or(node_id node, const window& w, std::uint64_t offset, word operand) final;
  status fence(node_id node) override;

  result<queue> make_queue(std::size_t bound) override;
  status drop_queue(const queue& q) override;
  status enqueue(node_id node, const queue& q, word value) override { return enqueue(node, q, std::span<const word>(&value, 1)); }
  status enqueue(node_id node, const queue& q, std::span<const word> values) override;
  result<std::size_t> dequeue(const queue& q, std::span<word> into) override;

  void on(handler_id id, handler h) override;
  status send(node_id node, lane l, handler_id id, std::span<const word> words, bytes payload) override;
  status multicast_send(std::span<const node_id> to, lane l, handler_id id, std::span<const word> words, bytes payload) override;

  status wait(condition until, duration limit) override;
  bool poll() override;
  bool disturbs() const noexcept override { return driver_.serving(); }
  status nudge(node_id node) override;

  void mark_failed(node_id node, const std::string& how) override;
  bool failed(node_id node) const noexcept override { return node < nodes() && failed_[node].load(std::memory_order_acquire); }
  // Relaxed: who wants to know which one asks failed().
  bool any_failed() const noexcept override { return any_failed_.load(std::memory_order_relaxed); }
  void close() override { driver_.stop(); }

 protected:
  enum class counter : std::size_t {
    puts,
    put_bytes,
    gets,
    get_bytes,
    atomics,
    enqueues,
    sends,
    send_bytes,
    fences,
    handled,
    waits,
    sleeps,
    system_calls,
    all
  };
  enum class atomic_kind : word { add, swap, compare_swap, bit_and, bit_or };  // numbers are part of the wire format

  explicit message_port(const fabric_options& options);

  // --- what a transport provides, besides `driven` ------------------------------------------------------------------------------

  // Hands one message to the network; false when there is no room for it now. Any thread.
  virtual bool try_transmit(node_id node, lane l, handler_id id, std::span<const word> words, bytes payload) = 0;

  // Payload bytes of a put of `size` that travel best in one message to `node`, for cutting long puts. Short ones are not cut: a window
  // that is revoked meanwhile takes them whole or not at all.
  virtual std::size_t put_piece(node_id, std::size_t) { return most_payload; }
  static constexpr std::size_t whole_put = 16 * 1024;

  // The calling thread is about to wait for an answer, so nothing will follow from it soon: what the transport holds back to send it
  // together with more goes now. Any thread.
  virtual void hurry() {}

  // Receives what has arrived and dispatches it; whether there was anything. Only the driver calls it.
  virtual bool poll_transport() = 0;

  // The calling thread has sent a message to its own node. If nobody drives it does so for one turn: waking the communication thread for
  // it, to wait for that, takes longer than the handler. Whether there was anything to do.
  virtual bool work_now() { return driver_.poll(); }

  virtual result<word> atomic_operation(node_id node, const window& w, std::uint64_t offset, atomic_kind kind, word a, word b);

  // --- what a transport uses ----------------------------------------------------------------------------------------------------

  void dispatch(node_id source, lane l, handler_id id, std::span<const word> words, bytes payload);

  // Whether requests may be dispatched now. Only the driver asks.
  bool requests_welcome() const noexcept {
    return held_on(lane::reply) == 0 && backlog_bytes_.load(std::memory_order_relaxed) <= most_backlog / 2 &&
           held_on(lane::request) <= most_held / 2 && !stalled_.load(std::memory_order_relaxed);
  }

  // Whether puts and words of handlers wait to be sent.
  bool holds_requests() const noexcept { return held_on(lane::request) != 0; }

  bool handling() const noexcept;  // whether the calling thread is inside one of this port's handlers
  void count(counter c, std::uint64_t amount = 1) const noexcept { counters_.add(static_cast<std::size_t>(c), amount); }

  // A call's arguments, checked before anything is sent.
  status check_node(node_id node) const;
  status check(node_id node, const window& w, std::uint64_t offset, std::size_t size, rights need) const;
  status check_message(node_id node, lane l, handler_id id, std::span<const word> words, bytes payload) const;

  static word perform(std::byte* at, atomic_kind kind, word a, word b);

  // Sends, whatever it takes: for a transport's own handlers and questions.
  status post(node_id node, lane l, handler_id id, std::span<const word> words, bytes payload = {});

  // Waits for something that `node` must do; its failure ends the wait.
  status wait_for(node_id node, condition until, const char* what);

  // Queues of this node. A queue's memory is never unmapped while the port lives, so a late enqueue is harmless.
  struct local_queue {
    std::atomic<std::uint64_t> capability{0};  // 0: free
    os::unique_fd file;
    os::mapping where;
    word_queue* words = nullptr;
  };
  local_queue* find_queue(std::uint32_t id, std::uint64_t capability);
  static status refuse_queue(node_id node, std::uint32_t id);

  const fabric_options options_;
  driver driver_;
  window_table windows_;

 private:
  // A message that was not sent, or not handled, at once.
  struct held_message {
    node_id node;
    weft::lane lane;
    handler_id id;
    std::vector<word> words;
    base::byte_buffer payload;
  };

  static constexpr std::size_t get_piece = 32 * 1024;
  static constexpr std::size_t gets_in_flight = 256 * 1024;  // bytes asked for ahead of what has arrived
  static constexpr std::size_t most_backlog = std::size_t{64} << 20, most_held = std::size_t{1} << 18;  // bytes, messages
  static constexpr std::size_t most_local = 1024;

  bool drive_once() final;
  bool unfinished() final {
    return local_size_.load(std::memory_order_relaxed) + held_on(lane::request) + held_on(lane::reply) > 0 ||
           stalled_.load(std::memory_order_relaxed);
  }
  std::size_t held_on(lane l) const noexcept { return backlog_size_[static_cast<std::size_t>(l)].load(std::memory_order_relaxed); }
  bool flush_backlog(lane l);
  bool deliver_local();
  bool finish_stalled();

  void register_own_handlers();
  void serve_put(const message& m);
  void serve_put_runs(const message& m);
  void serve_get(const message& m);
  void serve_atomic(const message& m);
  void serve_enqueue(const message& m);
  void serve_fence(const message& m);
  void take_get_reply(const message& m);
  void take_value(const message& m);
  void take_refusal(const message& m);
  void refuse(node_id node, word token, const status& why);
  void remember_failure(node_id source, status why);

  status hold_back(node_id node, lane l, handler_id id, std::span<const word> words, bytes payload);
  status post_to_self(lane l, handler_id id, std::span<const word> words, bytes payload);

  result<word> open_reply(node_id node);
  status finish_reply(word token, const char* what, word* value = nullptr);
  void ask_more(word token);
  bool ask_piece(word token, bool may_wait);

  mutable base::counters<static_cast<std::size_t>(counter::all)> counters_;
  // Handlers may be registered while the driver runs: the list keeps them alive, the table publishes them.
  std::mutex handlers_lock_;  // guards handler_list_
  std::deque<handler> handler_list_;
  std::unique_ptr<std::atomic<const handler*>[]> handlers_;
  reply_table replies_;

  mutable std::mutex held_lock_;                         // guards backlog_ and local_
  std::array<std::deque<held_message>, lanes> backlog_;  // sends of handlers that found no room
  std::deque<held_message> local_;                       // messages to this node itself
  std::atomic<std::size_t> backlog_bytes_{0};
  std::array<std::atomic<std::size_t>, lanes>
      backlog_size_{};  // so that the empty case costs a load; relaxed, the lock orders the contents
  std::atomic<std::size_t> local_size_{0};

  // The driver's: an enqueue that found its queue at the bound waits here, and requests behind it.
  std::atomic<bool> stalled_{false};  // what the consumer looks at; relaxed, a late look only delays by a turn
  std::vector<word> stalled_words_;
  local_queue* stalled_queue_ = nullptr;

  // The driver's: the first failure of each source's puts since that source's last fence.
  std::vector<status> deferred_;

  mutable std::mutex failures_lock_;  // guards failures_
  std::vector<std::string> failures_;
  std::unique_ptr<std::atomic<bool>[]> failed_;
  std::atomic<bool> any_failed_{false};

  std::mutex queues_lock_;  // guards making and dropping
  base::growing_array<local_queue, most_queues> queues_;

  struct allocation {
    os::unique_fd file;
    os::mapping where;
  };
  std::mutex memory_lock_;  // guards allocated_
  std::deque<allocation> allocated_;
};

}  // namespace weft::fabric
