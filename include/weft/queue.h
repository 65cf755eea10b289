// Queues of words after Telegraphos's remote enqueue: any node appends a word to a queue in another node's memory, without a round
// trip and without agreement with other senders.
//
//   weft::vmmc vmmc(job);
//   auto inbox = weft::make_queue(vmmc, "inbox").or_throw();                       // on the consumer
//   auto outbox = weft::find_queue(vmmc, consumer, "inbox").or_throw();            // on every sender
//   outbox.enqueue(42).or_throw();
//   weft::word value = inbox.wait_and_dequeue(std::chrono::seconds(1)).or_throw();
//
// examples/queue.cpp is the whole program.
//
// Order. Words of one sender come out in the order sent, and each after that sender's earlier puts to the node have been performed.
// Nothing is said about the order of different senders.
//
// Bound. enqueue never waits for the consumer and never fails for want of room: the queue grows by linking buffers, up to the bound
// that it was made with. At the bound the network stops taking requests for the consumer, as in the paper's section 4.1; the
// consumer's next dequeue says so (errc::too_large, once), and no word is lost.
//
// Threads. Any thread may enqueue, also from a handler; several threads may dequeue, each word goes to one of them. Dequeueing is
// done in user space.
#pragma once

#include <chrono>
#include <string_view>
#include <utility>

#include <weft/vmmc.h>

namespace weft {

// The sender's end. A handle, freely copied.
class remote_queue {
 public:
  remote_queue() = default;
  remote_queue(port& p, node_id node, const queue& q) : port_(&p), node_(node), queue_(q) {}

  node_id node() const noexcept { return node_; }
  const queue& capability() const noexcept { return queue_; }

  status enqueue(word value) const { return port_->enqueue(node_, queue_, value); }
  status enqueue(std::span<const word> values) const { return port_->enqueue(node_, queue_, values); }

 private:
  port* port_ = nullptr;
  node_id node_ = 0;
  queue queue_;
};

// The consumer's end. The queue goes when it does.
class local_queue {
 public:
  local_queue() = default;
  local_queue(port& p, const queue& q, exported name) : port_(&p), queue_(q), name_(std::move(name)) {}
  local_queue(local_queue&& other) noexcept
      : port_(std::exchange(other.port_, nullptr)), queue_(other.queue_), name_(std::move(other.name_)) {}
  local_queue& operator=(local_queue&& other) noexcept {
    std::swap(port_, other.port_);
    std::swap(queue_, other.queue_);
    std::swap(name_, other.name_);
    return *this;
  }
  ~local_queue() {
    if (port_) port_->drop_queue(queue_).ignore();
  }

  const queue& capability() const noexcept { return queue_; }

  // How many words it took; 0 when there were none.
  result<std::size_t> dequeue(std::span<word> into) { return port_->dequeue(queue_, into); }

  // Waits for a word, and drives the port meanwhile.
  result<word> wait_and_dequeue(port::duration limit) {
    word value = 0;
    result<std::size_t> taken = std::size_t{0};
    // A condition may be asked again after it has held: a word that was taken is not taken again.
    const auto over = [&] { return !taken.ok() || *taken == 1; };
    auto waited = port_->wait([&] { return over() || (taken = dequeue({&value, 1}), over()); }, limit);
    if (!taken.ok()) return taken.failure();
    if (*taken == 0) return waited;
    return value;
  }

 private:
  port* port_ = nullptr;
  queue queue_;
  exported name_;  // where senders find the capability
};

// A queue of this node under a name. `nodes`: who may find it; nobody named: everybody.
result<local_queue> make_queue(vmmc& v, std::string_view name, std::size_t bound = port::default_queue_bound,
                               std::vector<node_id> nodes = {});

// Waits up to `limit` until `node` has a queue of that name.
result<remote_queue> find_queue(vmmc& v, node_id node, std::string_view name,
                                std::chrono::nanoseconds limit = std::chrono::seconds(10));

}  // namespace weft
