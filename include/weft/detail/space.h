// space: what stands behind weft::make_array, weft::mutex and weft::barrier. Programs use those; this is the seam at which the
// runtime, the variant with plain threads and the simulator take their places.
//
// A space is the shared memory of one job as one node sees it: allocation, and synchronisation that makes writes visible. Every
// node of a program has its own, reached through here().
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

#include <weft/port.h>
#include <weft/detail/wait_record.h>

namespace weft {

// Where the pages of an allocation have their home. A page's home holds its master copy: the node that writes it most should be it.
struct placement {
  enum class rule : std::uint8_t {
    first_touch,  // the first node to use a page after the program's initialisation, page by page
    cyclic,       // page by page round the nodes
    block,        // equal parts in node order: node i gets the i-th
    on_node,      // all on one
  };
  rule by = rule::first_touch;
  node_id node = 0;

  bool operator==(const placement&) const = default;

  static placement cyclic() { return {rule::cyclic, 0}; }
  static placement block() { return {rule::block, 0}; }
  static placement on(node_id node) { return {rule::on_node, node}; }
};

// The part of a synchronisation object that lies in memory. `number` says which object of the job it is, once it has been used or
// constructed; the rest is the object itself where nodes share memory in hardware, and unused elsewhere.
struct sync_object {
  std::atomic<std::uint64_t> number{0};
  std::atomic<std::uint64_t> state{0};
  std::atomic<std::uint32_t> sleepers{0};
};

class space {
 public:
  using duration = std::chrono::nanoseconds;
  static constexpr duration for_ever = duration::max();

  virtual ~space() = default;
  virtual node_id self() const noexcept = 0;
  virtual node_id nodes() const noexcept = 0;

  // --- memory -------------------------------------------------------------------------------------------------------------------

  // At the same address everywhere. What is allocated together is zeroed. Throws weft::error when there is no more.
  virtual void* allocate(std::size_t size, std::size_t alignment, placement where) = 0;           // by this node alone
  virtual void* allocate_together(std::size_t size, std::size_t alignment, placement where) = 0;  // by all nodes, in the same order
  virtual void release(void* p) = 0;                                                              // by any node, once
  virtual bool owns(const void* p) const noexcept = 0;

  // Makes the pages of [p, p + size) present, so that a system call may use them.
  virtual void touch(const void* p, std::size_t size, bool for_writing) = 0;

  // --- synchronisation ----------------------------------------------------------------------------------------------------------

  // Gives a new object its number. One in shared memory is an object of its own; those elsewhere are numbered in the order of their
  // construction, so that the k-th one of every node is the same object; they may be older than the job.
  static void adopt(sync_object& o);
  static constexpr std::uint64_t elsewhere = std::uint64_t{1} << 63;  // in the number of an object outside the shared memory
  virtual void name(sync_object& o) = 0;                              // of one in shared memory

  virtual bool lock(sync_object& m, duration limit) = 0;  // false: not within the limit
  virtual void unlock(sync_object& m) = 0;

  // Of a shared mutex: by one writer or by any number of readers.
  virtual bool lock(sync_object& m, bool writing, duration limit) = 0;
  virtual void unlock(sync_object& m, bool writing) = 0;

  // A word that only grows or is set: flags and counters. What was written before an add or a store is visible after a wait or an
  // add that sees its value.
  virtual std::uint64_t add(sync_object& w, std::uint64_t amount) = 0;  // the value before
  virtual void store(sync_object& w, std::uint64_t value) = 0;
  virtual std::uint64_t load(sync_object& w) = 0;
  virtual bool wait_at_least(sync_object& w, std::uint64_t value, duration limit) = 0;

  virtual bool wait(sync_object& condition, sync_object& mutex, duration limit) = 0;
  virtual void notify(sync_object& condition, bool all) = 0;

  // All nodes; one thread of each calls.
  virtual void barrier() = 0;
  // The same for the library's own use: the program's initialisation does not end with it.
  virtual void barrier_within() { barrier(); }
  // `participants` threads, of whichever nodes.
  virtual void barrier(sync_object& b, std::uint32_t participants) = 0;

  // All nodes: a barrier that also gives everybody everybody's bytes, by node. At most most_gathered bytes each, all the same
  // number.
  virtual void gather(bytes mine, mutable_bytes all) = 0;
  static constexpr std::size_t most_gathered = 1024;

  // The program's initialisation ends here, instead of at the first barrier: pages get their homes by first touch from now on.
  virtual void initialised() = 0;

  // --- what threads do, for the statistics and the roll-call --------------------------------------------------------------------

  // The calling thread waits for this from now on; what it waited for before. A wait_note does both ends.
  virtual wait_record waits_for(const wait_record&) { return {}; }

  // The calling thread is one of the program's, with this number on its node, until it ends.
  virtual void thread_begins(std::uint32_t) {}
  virtual void thread_ends() {}

  // This node's. There is one while a weft::job lives.
  static space& here();

 protected:
  space() = default;
};

// Says what the calling thread waits for, as long as it lives.
class wait_note {
 public:
  wait_note(space& of, const wait_record& w) : space_(of), before_(of.waits_for(w)) {}
  ~wait_note() { space_.waits_for(before_); }
  wait_note(const wait_note&) = delete;
  wait_note& operator=(const wait_note&) = delete;

 private:
  space& space_;
  const wait_record before_;
};

}  // namespace weft
