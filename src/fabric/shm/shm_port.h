// The fabric of nodes on one host. Windows are memory files that the peers map: put and get are copies, atomics are instructions, and
// nothing of it involves a thread of the destination. Messages go through rings in shared memory. It is also the model of a
// memory-mapped network interface for the protocols above.
#pragma once

#include "fabric/message_port.h"
#include "fabric/shm/node_block.h"

namespace weft::fabric::shm {

class shm_port final : public message_port {
 public:
  explicit shm_port(const fabric_options& options);
  ~shm_port() override;

  const char* name() const noexcept override { return "shm"; }
  capabilities can() const noexcept override { return {.mapped = true, .one_sided = true, .ordered = true, .multicast = false}; }

  result<base::byte_buffer> open() override;
  status connect(std::span<const base::byte_buffer> cards) override;

  result<window> expose(const memory& m, rights allowed) override;
  status revoke(const window& w) override;
  std::byte* mapped(node_id node, const window& w) override;

  status put(node_id node, const window& w, std::uint64_t offset, bytes source) override;
  status put_runs(node_id node, const window& w, std::span<const run> runs) override;
  result<transfer> start_get(node_id node, const window& w, std::uint64_t offset, mutable_bytes into) override;
  status fence(node_id node) override;
  result<queue> make_queue(std::size_t bound) override;
  status drop_queue(const queue& q) override;
  status enqueue(node_id node, const queue& q, word value) override;
  status enqueue(node_id node, const queue& q, std::span<const word> values) override;
  status nudge(node_id node) override;

 private:
  // A peer's window in this node's address space.
  struct view {
    os::mapping where;
    std::uint64_t capability = 0;
    std::uint64_t size = 0;
    rights allowed = rights::none;
    const shown_window* shown = nullptr;
  };
  struct queue_view {
    os::mapping where;
    std::uint64_t capability = 0;
    word_queue* words = nullptr;
    const shown_queue* shown = nullptr;
  };
  struct peer {
    os::mapping mapping;
    node_block* block = nullptr;
    pid_t pid = 0;
    os::unique_fd alive;  // a pidfd: readable when the process is gone
    std::array<ring_producer, lanes> out;
    std::array<os::spin_lock, lanes> out_locks;  // guard `out`
    std::array<ring_consumer, lanes> in;         // the driver's
    std::unique_ptr<std::atomic<view*>[]> views;
    std::unique_ptr<std::atomic<queue_view*>[]> queues;
  };

  // The right to touch a peer's window; keeps it from being revoked meanwhile.
  class access {
   public:
    access(shm_port& from, node_id node, const window& w, std::uint64_t offset, std::size_t size, rights need);
    ~access() {
      if (slot_) slot_->store(0, std::memory_order_release);  // pairs with the acquire in wait_for_accesses
      if (shared_) shared_->unlock();
    }
    access(const access&) = delete;
    access& operator=(const access&) = delete;
    explicit operator bool() const noexcept { return base_ != nullptr; }
    std::byte* base() const noexcept { return base_; }
    std::uint64_t size() const noexcept { return size_; }  // in the exporter's words, not the caller's
    status failure() { return std::move(failure_); }

   private:
    std::byte* base_ = nullptr;
    std::uint64_t size_ = 0;
    std::atomic<std::uint64_t>* slot_ = nullptr;
    os::spin_lock* shared_ = nullptr;  // threads without a hazard slot of their own take turns
    status failure_;
  };

  bool try_transmit(node_id node, lane l, handler_id id, std::span<const word> words, bytes payload) override;
  bool poll_transport() override;
  bool pending() override;
  void arm(sleeper who) override;
  void disarm() override;
  void following(bool begins) override;
  void block(sleeper who, base::nanoseconds limit) override;
  void kick() override { block_->ring_bell(); }
  result<word> atomic_operation(node_id node, const window& w, std::uint64_t offset, atomic_kind kind, word a, word b) override;

  status attach(node_id node, const base::byte_buffer& card);
  result<view*> view_of(node_id node, const window& w);
  result<view*> map_window(node_id node, const window& w);
  word_queue* known_queue(node_id node, const queue& q) const noexcept;
  result<word_queue*> queue_of(node_id node, const queue& q);
  void wait_for_accesses(std::uint32_t id);
  result<os::unique_fd> open_file_of(node_id node, int file, bool writable);
  void look_for_the_dead(bool now_please = false);

  os::unique_fd file_;
  os::mapping own_;
  node_block* block_ = nullptr;
  std::vector<peer> peers_;
  os::spin_lock shared_hazard_;
  std::mutex mapping_lock_;  // guards making views, and the two lists
  std::vector<std::unique_ptr<view>> all_views_;
  std::vector<std::unique_ptr<queue_view>> all_queues_;
  std::atomic<base::nanoseconds> last_census_{0};
};

}  // namespace weft::fabric::shm
