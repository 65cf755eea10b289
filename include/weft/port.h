// Port: what a node can do with the network. The narrow waist of weft.
//
// Everything above (VMMC, the coherence protocols, synchronisation) is written against this interface alone, and everything below
// (the fabrics shm, udp and ofi, the simulator's network, the deterministic tests' network) implements it and passes the same
// contract tests.
//
// Order. Operations from one node to one destination are performed there in the order in which they were issued, by whichever
// thread, as long as the issuing calls themselves were ordered: a put is seen before a message, a word or an atomic that was
// issued after it. There are two exceptions: a message on the reply lane may overtake requests, and gets that are under way together
// are performed in any order.
//
// Completion. put, put_runs, enqueue and send return when the source may be reused, which says nothing about the destination.
// fence(node) returns when everything issued before it has been performed there. Failures that can only be found at the
// destination (a window that was revoked meanwhile) are reported by the next fence to that node.
//
// Threads. Any thread may call anything. Handlers run one at a time on the thread that drives the port: a thread that waits in
// some operation or sends to its own node, or the communication thread while all others compute. A handler must not wait: it may put,
// enqueue, and send on the reply lane, to anybody; everything else is refused with errc::would_block.
//
// Waiting. Every operation that waits gives up after patience() and says for whom it waited. A node that is known to have failed
// ends every wait for it at once.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <type_traits>

#include <weft/status.h>

namespace weft {

namespace observe {
class activity;
}

using node_id = std::uint32_t;
using word = std::uint64_t;

using bytes = std::span<const std::byte>;
using mutable_bytes = std::span<std::byte>;

// Whatever happens on the request lane, the reply lane moves.
enum class lane : std::uint8_t { request, reply };
inline constexpr std::size_t lanes = 2;

enum class rights : std::uint32_t { none = 0, read = 1, write = 2, atomic = 4, notify = 8, all = 15 };
constexpr rights operator|(rights a, rights b) {
  return rights(std::uint32_t(a) | std::uint32_t(b));
}
constexpr bool allows(rights have, rights need) {
  return (std::uint32_t(have) & std::uint32_t(need)) == std::uint32_t(need);
}

// Memory that a node exposes. `file` is a memfd that backs it: fabrics on one host hand it to the peers, so that their stores
// arrive without a copy. Memory from port::allocate always qualifies for every fabric.
struct memory {
  std::byte* base = nullptr;
  std::size_t size = 0;
  int file = -1;
  std::uint64_t file_offset = 0;

  mutable_bytes span() const { return {base, size}; }
};

// The capability to reach an exposed window. Plain data: it may travel in a message. Whoever holds it may use it; whoever does not
// cannot guess it. The bounds and rights in it let the caller fail early; the destination checks its own copy.
struct window {
  std::uint32_t id = 0;
  rights allowed = rights::none;
  std::uint64_t size = 0;
  std::uint64_t capability = 0;

  bool operator==(const window&) const = default;
};

// The capability to append to a node's queue of words.
struct queue {
  std::uint32_t id = 0;
  std::uint32_t silent = 0;  // not 0, set by the owner: nobody waits for its words, so an enqueue need not wake a wait
  std::uint64_t capability = 0;

  bool operator==(const queue&) const = default;
};

// A piece of a put_runs: what a diff is made of.
struct run {
  std::uint64_t offset = 0;
  bytes data;
};

struct window_at {
  node_id node = 0;
  weft::window window;
};

class port;

// What a handler is given. The spans are valid until it returns.
struct message {
  port& at;
  node_id source;
  weft::lane lane;
  std::span<const word> words;
  bytes payload;
};

using handler_id = std::uint16_t;
using handler = std::function<void(const message&)>;

// Handlers below this number belong to weft itself.
inline constexpr handler_id first_user_handler = 64;
inline constexpr std::size_t most_handlers = 4096;

inline constexpr std::size_t most_words = 20;           // as many as a JAM call carries
inline constexpr std::size_t most_payload = 64 * 1024;  // of one message; put and get take any size

// A get that is under way.
struct transfer {
  std::uint64_t token = 0;
};

struct capabilities {
  bool mapped = false;      // mapped() gives pointers: remote loads and stores work
  bool one_sided = false;   // put, get and atomics do not involve a thread of the destination
  bool ordered = false;     // the order above is the network's own, not made by waiting
  bool multicast = false;   // the multicast forms cost less than the single ones repeated
  bool any_memory = false;  // windows may be of memory that no file backs
};

// What a port has done since it was opened. Every number counts completed calls or bytes of payload.
struct port_statistics {
  std::uint64_t puts = 0, put_bytes = 0;
  std::uint64_t gets = 0, get_bytes = 0;
  std::uint64_t atomics = 0;
  std::uint64_t enqueues = 0;
  std::uint64_t sends = 0, send_bytes = 0;
  std::uint64_t fences = 0;
  std::uint64_t handled = 0;       // messages that this node's handlers were run for, weft's own included
  std::uint64_t waits = 0;         // times that a thread waited at all
  std::uint64_t sleeps = 0;        // times that a wait went as far as to sleep
  std::uint64_t system_calls = 0;  // that the port made to move data
  std::uint64_t datagrams_out = 0, datagrams_in = 0;
  std::uint64_t retransmitted = 0;  // datagrams sent again
  std::uint64_t duplicates = 0;     // datagrams that had already arrived
  std::uint64_t rejected = 0;       // datagrams without a valid tag of this job, dropped unread
};

// A predicate that does not own what it refers to: for waits, where the caller's frame outlives the call.
class condition {
 public:
  template <typename F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, condition>) condition(F&& f)  // NOLINT: converts on purpose
      : object_(const_cast<void*>(static_cast<const void*>(&f))),
        call_([](void* o) -> bool { return (*static_cast<std::remove_reference_t<F>*>(o))(); }) {}
  bool operator()() const { return call_(object_); }

 private:
  void* object_;
  bool (*call_)(void*);
};

class port {
 public:
  using duration = std::chrono::nanoseconds;

  virtual ~port() = default;
  port(const port&) = delete;
  port& operator=(const port&) = delete;

  node_id self() const noexcept { return self_; }
  node_id nodes() const noexcept { return nodes_; }
  virtual const char* name() const noexcept = 0;
  virtual capabilities can() const noexcept = 0;
  virtual port_statistics statistics() const = 0;

  // How long an operation waits before it gives up.
  duration patience() const noexcept { return patience_; }
  void patience(duration d) noexcept { patience_ = d; }

  // What this node's threads do, for the statistics and the roll-call; null: nobody asks. Set before the port is used.
  observe::activity* activity() const noexcept { return activity_; }
  void activity(observe::activity* a) noexcept { activity_ = a; }

  // --- memory and windows -------------------------------------------------------------------------------------------------------

  // Zeroed, page-aligned memory that every fabric can expose. Lives as long as the port.
  virtual result<memory> allocate(std::size_t size) = 0;

  // Exposes `m`, which must outlive the window. At most most_windows at a time.
  virtual result<window> expose(const memory& m, rights allowed) = 0;

  // Ends access. Returns when no operation is under way any more; each either was performed whole or fails.
  virtual status revoke(const window& w) = 0;

  // Where loads and stores of this node reach the window, or null. Aligned words are stored whole; a store becomes visible in the
  // order of the port's other operations to that node. Valid until the window is revoked.
  virtual std::byte* mapped(node_id node, const window& w) = 0;

  // --- one-sided operations -----------------------------------------------------------------------------------------------------

  virtual status put(node_id node, const window& w, std::uint64_t offset, bytes source) = 0;
  virtual status put_runs(node_id node, const window& w, std::span<const run> runs) = 0;
  virtual status multicast_put(std::span<const window_at> to, std::uint64_t offset, bytes source) = 0;

  virtual result<transfer> start_get(node_id node, const window& w, std::uint64_t offset, mutable_bytes into) = 0;
  virtual bool done(const transfer& t) = 0;      // drives the port once if it is not
  virtual status finish(const transfer& t) = 0;  // waits; every transfer is finished exactly once
  status get(node_id node, const window& w, std::uint64_t offset, mutable_bytes into);

  // On an aligned word of the window. They return what the word held before.
  virtual result<word> fetch_add(node_id node, const window& w, std::uint64_t offset, word operand) = 0;
  virtual result<word> swap(node_id node, const window& w, std::uint64_t offset, word desired) = 0;
  virtual result<word> compare_swap(node_id node, const window& w, std::uint64_t offset, word expected, word desired) = 0;
  virtual result<word> fetch_and(node_id node, const window& w, std::uint64_t offset, word operand) = 0;
  virtual result<word> fetch_or(node_id node, const window& w, std::uint64_t offset, word operand) = 0;

  // Everything that this node issued to `node` before has been performed there.
  virtual status fence(node_id node) = 0;

  // --- queues of words: Telegraphos's remote enqueue ----------------------------------------------------------------------------

  // A queue on this node. It grows by linking buffers up to `bound` words.
  virtual result<queue> make_queue(std::size_t bound = default_queue_bound) = 0;
  virtual status drop_queue(const queue& q) = 0;

  // Appends; never waits for the destination and never fails for want of room. At the bound the consumer is told.
  virtual status enqueue(node_id node, const queue& q, word value) = 0;
  virtual status enqueue(node_id node, const queue& q, std::span<const word> values) = 0;

  // Takes up to `into.size()` words from a queue of this node, in user space; how many there were. Several threads may. A word that has been
  // performed here, as its sender's fence says, is found.
  // A queue that reached its bound says so once (errc::too_large) and then goes on: no word is lost.
  virtual result<std::size_t> dequeue(const queue& q, std::span<word> into) = 0;

  // --- messages -----------------------------------------------------------------------------------------------------------------

  // Registers what runs when a message for `id` arrives. All nodes register the same handlers before any of them is called.
  virtual void on(handler_id id, handler h) = 0;

  // Of a handler that runs: whether it is in the way of a program that computes, as no thread of this node waits.
  virtual bool disturbs() const noexcept { return true; }

  virtual status send(node_id node, lane l, handler_id id, std::span<const word> words, bytes payload = {}) = 0;
  virtual status multicast_send(std::span<const node_id> to, lane l, handler_id id, std::span<const word> words,
                                bytes payload = {}) = 0;

  // --- waiting ------------------------------------------------------------------------------------------------------------------

  // Drives the port until `until` holds. It is evaluated again after everything that arrives here and after every nudge, and maybe
  // once more after it has held, so one that takes something remembers that it has. Fails with
  // timed_out after `limit`; a failed node does not end it, because only the caller knows whom it waits for.
  virtual status wait(condition until, duration limit) = 0;

  // Does what there is to do, without waiting; whether there was anything.
  virtual bool poll() = 0;

  // The time by which waits are limited. It only grows.
  virtual duration now() const { return std::chrono::steady_clock::now().time_since_epoch(); }

  // Has the waits of `node` look at their conditions again: goes after stores through mapped().
  virtual status nudge(node_id node) = 0;

  // --- failure ------------------------------------------------------------------------------------------------------------------

  // Tells the port that a node is gone and how. From then on operations to it fail with this sentence.
  virtual void mark_failed(node_id node, const std::string& how) = 0;
  virtual bool failed(node_id node) const noexcept = 0;
  virtual bool any_failed() const noexcept = 0;

  static constexpr std::size_t most_windows = 4096;
  static constexpr std::size_t most_queues = 256;
  static constexpr std::size_t default_queue_bound = std::size_t{1} << 22;

 protected:
  port(node_id self, node_id nodes) noexcept : self_(self), nodes_(nodes) {}

 private:
  node_id self_;
  node_id nodes_;
  duration patience_ = std::chrono::seconds(30);
  observe::activity* activity_ = nullptr;
};

inline status port::get(node_id node, const window& w, std::uint64_t offset, mutable_bytes into) {
  auto started = start_get(node, w, offset, into);
  return started ? finish(*started) : started.failure();
}

}  // namespace weft
