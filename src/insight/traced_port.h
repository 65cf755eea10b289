// A port whose operations leave events in the node's trace: what shared memory and synchronisation stand on when a job runs with --trace.
// Without that there is none.
#pragma once

#include <weft/port.h>

#include "observe/activity.h"

namespace weft::runtime {

class traced_port final : public port {
 public:
  // `of` has an activity with a trace.
  explicit traced_port(port& of) noexcept : port(of.self(), of.nodes()), port_(of) {
    activity(of.activity());
    patience(of.patience());
  }

  const char* name() const noexcept override { return port_.name(); }
  capabilities can() const noexcept override { return port_.can(); }
  port_statistics statistics() const override { return port_.statistics(); }
  result<memory> allocate(std::size_t size) override { return port_.allocate(size); }
  result<window> expose(const memory& m, rights allowed) override { return port_.expose(m, allowed); }
  status revoke(const window& w) override { return port_.revoke(w); }
  std::byte* mapped(node_id node, const window& w) override { return port_.mapped(node, w); }

  status put(node_id node, const window& w, std::uint64_t offset, bytes source) override;
  status put_runs(node_id node, const window& w, std::span<const run> runs) override;
  status multicast_put(std::span<const window_at> to, std::uint64_t offset, bytes source) override;
  result<transfer> start_get(node_id node, const window& w, std::uint64_t offset, mutable_bytes into) override;
  bool done(const transfer& t) override { return port_.done(t); }
  status finish(const transfer& t) override { return port_.finish(t); }
  result<word> fetch_add(node_id node, const window& w, std::uint64_t offset, word operand) override;
  result<word> swap(node_id node, const window& w, std::uint64_t offset, word desired) override;
  result<word> compare_swap(node_id node, const window& w, std::uint64_t offset, word expected, word desired) override;
  result<word> fetch_and(node_id node, const window& w, std::uint64_t offset, word operand) override;
  result<word> fetch_or(node_id node, const window& w, std::uint64_t offset, word operand) override;
  status fence(node_id node) override;

  result<queue> make_queue(std::size_t bound) override { return port_.make_queue(bound); }
  status drop_queue(const queue& q) override { return port_.drop_queue(q); }
  status enqueue(node_id node, const queue& q, word value) override;
  status enqueue(node_id node, const queue& q, std::span<const word> values) override;
  result<std::size_t> dequeue(const queue& q, std::span<word> into) override { return port_.dequeue(q, into); }

  void on(handler_id id, handler h) override;
  status send(node_id node, lane l, handler_id id, std::span<const word> words, bytes payload) override;
  status multicast_send(std::span<const node_id> to, lane l, handler_id id, std::span<const word> words, bytes payload) override;

  status wait(condition until, duration limit) override { return port_.wait(until, limit); }
  bool poll() override { return port_.poll(); }
  bool disturbs() const noexcept override { return port_.disturbs(); }
  duration now() const override { return port_.now(); }
  status nudge(node_id node) override { return port_.nudge(node); }
  void mark_failed(node_id node, const std::string& how) override { port_.mark_failed(node, how); }
  bool failed(node_id node) const noexcept override { return port_.failed(node); }
  bool any_failed() const noexcept override { return port_.any_failed(); }

 private:
  observe::span traced(observe::trace_kind k, node_id node, std::size_t amount, std::uint64_t what = 0) const {
    return {activity(), k, what, node, amount};
  }

  port& port_;
};

}  // namespace weft::runtime
