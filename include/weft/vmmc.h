// vmmc: virtual memory-mapped communication after SHRIMP, with Telegraphos's remote operations. A node exports memory under a name;
// others import it and write into it, read it and change its words, without a receive call on the other side.
//
//   weft::job job(argc, argv);
//   weft::vmmc vmmc(job);                                                    // collective
//   auto memory = job.port().allocate(1 << 20).or_throw();
//   auto mine = vmmc.export_memory("results", memory).or_throw();
//   auto theirs = vmmc.import_memory((job.self() + 1) % job.nodes(), "results").or_throw();
//   theirs.update(0, block).or_throw();                                      // deliberate update
//   theirs.fence().or_throw();                                               // it is there
//
// examples/vmmc.cpp is the whole program.
//
// Order. Operations through an import are those of the port (weft/port.h) and keep its order: to one node, in the order issued.
// Automatic updates are ordered with deliberate ones as follows.
//   - A deliberate update, then a store into bound memory: the store arrives later. Always.
//   - A store into bound memory, then a deliberate update: in order where the binding is `mapped`; elsewhere only with flush() of the
//     binding, or a fence, between them.
//   - fence() is after both: it flushes this node's bindings to that node first.
// A notification is run after the update that it came with has been performed, and after everything before that.
//
// Protection. Every importing node gets a capability of its own, and only if the export allows that node; the exporter's port
// checks capability, rights and bounds of each access. What is refused writes nothing. Some refusals are found before the call
// returns, the others are reported by the next fence to that node.
//
// Threads. Any thread may call anything on a vmmc, an exported and an imported. A binding and an update_queue say their own rules.
// Handlers of the port may update, and nothing else here that waits: such calls give errc::would_block.
//
// Life. The vmmc outlives what it made; the port outlives the vmmc. One vmmc a port.
#pragma once

#include <atomic>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <weft/port.h>
#include <weft/status.h>

namespace weft {

// How nodes tell each other something while they set up: every node gives some bytes and gets everybody's. A job has one.
using exchange = std::function<std::vector<std::vector<std::byte>>(bytes mine)>;

template <typename T>
concept job_like = requires(T& job, bytes mine) {
  { job.port() } -> std::convertible_to<port&>;
  { job.exchange(mine) } -> std::convertible_to<std::vector<std::vector<std::byte>>>;
};

class vmmc;
class update_queue;

namespace communication {
struct state;
struct export_record;
struct proxy;
class bound_memory;
class group_state;
class access_counters;
}  // namespace communication

// --- exporting -------------------------------------------------------------------------------------------------------------------

// What a notification says: a deliberate update of `size` bytes at `offset` by `source`, with a word of the sender's choice.
struct notification {
  node_id source = 0;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  word tag = 0;
};

using notification_handler = std::function<void(const notification&)>;

struct export_options {
  rights allowed = rights::all;
  std::vector<node_id> nodes = {};            // who may import it; nobody named: everybody
  notification_handler on_notification = {};  // without one, updates with a notification are refused
};

// Memory that this node has exported. Ends the export when it goes.
class exported {
 public:
  exported() = default;
  exported(exported&& other) noexcept;
  exported& operator=(exported&& other) noexcept;
  ~exported();

  const std::string& name() const noexcept;
  const weft::memory& memory() const noexcept;
  explicit operator bool() const noexcept { return record_ != nullptr; }

  // Ends all access. An update under way either arrives whole or fails; those after it fail with errc::revoked. Notifications that
  // have not begun are dropped, one that runs is waited for. Afterwards the name is free.
  status revoke();

 private:
  friend class vmmc;
  exported(std::shared_ptr<communication::state> s, std::shared_ptr<communication::export_record> r);
  std::shared_ptr<communication::state> state_;
  std::shared_ptr<communication::export_record> record_;
};

// --- importing -------------------------------------------------------------------------------------------------------------------

struct import_options {
  rights need = rights::none;                                 // refuse the import if the export does not grant these
  std::chrono::nanoseconds limit = std::chrono::seconds(10);  // how long to wait for the export
};

// Called on the thread whose access brought the page's counter to zero, right after that access.
using access_callback = std::function<void(std::uint64_t page)>;

// The proxy of memory that another node exports. A handle: copies are the same import.
class imported {
 public:
  imported() = default;

  node_id node() const noexcept { return node_; }
  std::uint64_t size() const noexcept { return window_.size; }
  rights allowed() const noexcept { return window_.allowed; }
  const std::string& name() const noexcept;
  const weft::window& window() const noexcept { return window_; }
  weft::port& port() const noexcept { return *port_; }

  // Deliberate update: any bytes to any place in the buffer. Returns when the source may be reused.
  status update(std::uint64_t offset, bytes source) const {
    auto outcome = port_->put(node_, window_, offset, source);
    if (counting_->load(std::memory_order_relaxed)) [[unlikely]]
      count(offset, source.size());  // relaxed: a hint
    return outcome;
  }
  template <typename T>
  requires std::is_trivially_copyable_v<T> status update_value(std::uint64_t offset, const T& value)
  const { return update(offset, std::as_bytes(std::span<const T, 1>(&value, 1))); }

  // Gathers: the pieces arrive one behind the other. Scatters: each run goes to its own place.
  status update_gathered(std::uint64_t offset, std::span<const bytes> pieces) const;
  status update_scattered(std::span<const run> runs) const;

  // The same as update, and then the exporter's notification handler runs. At most `most_unread` notifications of one node may wait
  // at another; beyond that the call waits for them to be run, and fails with timed_out after the port's patience, having written
  // nothing.
  status update_and_notify(std::uint64_t offset, bytes source, word tag = 0) const;
  static constexpr std::uint32_t most_unread = 1024;

  // Remote to local. fetch waits; start_fetch does not, and is finished exactly once.
  status fetch(std::uint64_t offset, mutable_bytes into) const {
    auto started = start_fetch(offset, into);
    return started ? port_->finish(*started) : started.failure();
  }
  result<transfer> start_fetch(std::uint64_t offset, mutable_bytes into) const {
    auto started = port_->start_get(node_, window_, offset, into);
    if (counting_->load(std::memory_order_relaxed)) [[unlikely]]
      count(offset, into.size());
    return started;
  }
  bool done(const transfer& t) const { return port_->done(t); }
  status finish(const transfer& t) const { return port_->finish(t); }

  // On the aligned word at `offset`. They return what it held before.
  result<word> fetch_add(std::uint64_t offset, word operand) const {
    return counted(offset, port_->fetch_add(node_, window_, offset, operand));
  }
  result<word> swap(std::uint64_t offset, word desired) const {
    return counted(offset, port_->swap(node_, window_, offset, desired));
  }
  result<word> compare_swap(std::uint64_t offset, word expected, word desired) const {
    return counted(offset, port_->compare_swap(node_, window_, offset, expected, desired));
  }
  result<word> fetch_and(std::uint64_t offset, word operand) const {
    return counted(offset, port_->fetch_and(node_, window_, offset, operand));
  }
  result<word> fetch_or(std::uint64_t offset, word operand) const {
    return counted(offset, port_->fetch_or(node_, window_, offset, operand));
  }

  // Everything that this node did to that node before, automatic updates included, has been performed there; or what was refused.
  status fence() const;

  // Telegraphos's access counters: every operation through this import takes one from the counter of each 4 KiB page that it
  // touches; whoever takes the last one runs `at_zero`. A counter at zero stays there until it is armed again. Loads and stores
  // through a mapping are not counted. The callback is the same for all pages; giving another one replaces it and disarms all.
  void on_access_zero(access_callback at_zero) const;
  status arm_access_counter(std::uint64_t page, std::uint32_t accesses) const;
  std::uint32_t accesses_left(std::uint64_t page) const;

 private:
  friend class vmmc;
  imported(std::shared_ptr<communication::proxy> p);
  void count(std::uint64_t offset, std::size_t size) const;
  result<word> counted(std::uint64_t offset, result<word> outcome) const {
    if (counting_->load(std::memory_order_relaxed)) [[unlikely]]
      count(offset, sizeof(word));
    return outcome;
  }

  weft::port* port_ = nullptr;
  node_id node_ = 0;
  weft::window window_;
  const std::atomic<bool>* counting_ = nullptr;  // of proxy_: whether accesses are counted
  std::shared_ptr<communication::proxy> proxy_;
};

// --- asynchronous updates --------------------------------------------------------------------------------------------------------

// Deliberate updates that are handed over and performed by a thread of the queue's own, in order (SHRIMP 4.5.3). A source stays
// unchanged until finish(). At most `depth` wait at a time; start() waits for room beyond that. Updates in the queue are not
// ordered with what else this node does until finish() has returned. One thread at a time uses it.
class update_queue {
 public:
  explicit update_queue(std::size_t depth = 8);
  ~update_queue();  // finishes; a failure is lost
  update_queue(const update_queue&) = delete;
  update_queue& operator=(const update_queue&) = delete;

  status start(const imported& to, std::uint64_t offset, bytes source);
  std::size_t waiting() const;  // handed over and not yet performed
  status finish();              // all of them have left; the first failure

 private:
  struct inside;
  std::unique_ptr<inside> inside_;
};

// --- automatic update ------------------------------------------------------------------------------------------------------------

enum class update_way : std::uint8_t {
  automatic,  // mapped where the fabric can, else tracked
  mapped,     // the remote memory itself is in this node's address space: a store is the update
  tracked,    // pages are write-tracked by the kernel; a background pass sends the words that changed
  doubled,    // the compiler reports every store (a program built by weft_add_program with DOUBLED); a background pass sends them
};
const char* to_string(update_way way) noexcept;

struct binding_options {
  update_way way = update_way::automatic;
  bool combining = true;  // adjacent stores travel together; without it every word is a put of its own (SHRIMP 4.5.1)
  // A store is on its way after this time plus that of the pass that sends it, at the latest.
  std::chrono::nanoseconds delay = std::chrono::milliseconds(10);
  mutable_bytes local = {};  // tracked and doubled: bind this memory (whole pages) instead of memory of the binding's own
};

struct binding_statistics {
  std::uint64_t passes = 0;  // that sent something
  std::uint64_t runs = 0, bytes = 0;
};

// Local memory bound to an import: what is stored there appears in the exporter's memory by itself.
//
// Write there, read elsewhere: what the memory holds before a node has stored into it is not said (mapped: what the exporter has
// there; otherwise zeroes, or what `local` held). `tracked` sees words of 8 bytes: two nodes must not write into the same word, and
// a store that changes nothing does not travel. `doubled` sees the program's own stores, to the byte, and not those of libraries
// that were built without it (memcpy, memmove and memset are seen).
//
// Unbinding flushes. Any thread may store; flush() may be called by any thread.
class binding {
 public:
  binding() = default;
  binding(binding&& other) noexcept = default;
  binding& operator=(binding&& other) noexcept;
  ~binding();

  mutable_bytes memory() const noexcept;
  update_way way() const noexcept;
  explicit operator bool() const noexcept { return bound_ != nullptr; }

  // Everything stored before, by this thread or by one that synchronised with it, is on its way: ordered before what this node
  // issues next to that node. Reports what went wrong in the background.
  status flush();
  status unbind();
  binding_statistics statistics() const;

 private:
  friend class vmmc;
  explicit binding(std::shared_ptr<communication::bound_memory> b) : bound_(std::move(b)) {}
  std::shared_ptr<communication::bound_memory> bound_;
};

// --- multicast -------------------------------------------------------------------------------------------------------------------

// Memory of which every member has a copy. A write reaches all copies (eager update); writes of several members at the same time
// leave every copy the same, because the group's owner, its first member, puts them into one order and sends them on.
//
// Reading is reading memory(): loads of one's own copy. A member's writes are applied in its order, one of up to most_payload bytes
// at a time. A member sees its own write when it comes back from the owner; fence() waits until all copies have it.
class multicast_group {
 public:
  multicast_group() = default;
  multicast_group(multicast_group&&) noexcept = default;
  multicast_group& operator=(multicast_group&&) noexcept = default;

  std::span<const std::byte> memory() const noexcept;
  node_id owner() const noexcept;
  status write(std::uint64_t offset, bytes source);
  status fence();

 private:
  friend class vmmc;
  explicit multicast_group(std::shared_ptr<communication::group_state> g) : group_(std::move(g)) {}
  std::shared_ptr<communication::group_state> group_;
};

// --- the node's part -------------------------------------------------------------------------------------------------------------

class vmmc {
 public:
  // Collective.
  template <job_like Job>
  explicit vmmc(Job& job) : vmmc(job.port(), [&job](bytes mine) { return job.exchange(mine); }) {}
  vmmc(weft::port& port, const exchange& with_all);
  ~vmmc();
  vmmc(const vmmc&) = delete;
  vmmc& operator=(const vmmc&) = delete;

  weft::port& port() const noexcept;

  static constexpr std::size_t most_name = 255;      // bytes
  static constexpr std::size_t most_exports = 1024;  // at a time; each importing node takes one of port::most_windows

  // Exports `m` (from port::allocate, or what the fabric can expose) under a name that is not in use on this node.
  result<exported> export_memory(std::string_view name, const memory& m, export_options options = {});

  // Waits until `node` exports `name`. Fails with no_right when the export does not allow this node or lacks the rights needed.
  result<imported> import_memory(node_id node, std::string_view name, import_options options = {});

  // Binds `size` bytes at `offset` of an import, both multiples of 8.
  result<binding> bind(const imported& to, std::uint64_t offset, std::size_t size, binding_options options = {});

  // Called by every member with the same arguments; returns when all have.
  result<multicast_group> join(std::string_view name, std::span<const node_id> members, std::size_t size);

  // Flushes the bindings to `node`, then the port's fence.
  status fence(node_id node);

  // Notifications run on one thread, in the order of arrival, none lost. While they are blocked they wait; block returns when none
  // runs (unless called by a notification handler). Not per buffer, as in the paper.
  void block_notifications();
  void unblock_notifications();

 private:
  std::shared_ptr<communication::state> state_;
};

}  // namespace weft
