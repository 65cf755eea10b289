#include "insight/traced_port.h"

namespace weft::runtime {

using observe::trace_kind;

status traced_port::put(node_id node, const window& w, std::uint64_t offset, bytes source) {
  const auto s = traced(trace_kind::put, node, source.size());
  return port_.put(node, w, offset, source);
}

status traced_port::put_runs(node_id node, const window& w, std::span<const run> runs) {
  std::size_t size = 0;
  for (const run& r : runs) size += r.data.size();
  const auto s = traced(trace_kind::put, node, size, runs.size());
  return port_.put_runs(node, w, runs);
}

status traced_port::multicast_put(std::span<const window_at> to, std::uint64_t offset, bytes source) {
  const auto s = traced(trace_kind::put, observe::trace::nowhere, source.size() * to.size());
  return port_.multicast_put(to, offset, source);
}

result<transfer> traced_port::start_get(node_id node, const window& w, std::uint64_t offset, mutable_bytes into) {
  const auto s = traced(trace_kind::get, node, into.size());
  return port_.start_get(node, w, offset, into);
}

result<word> traced_port::fetch_add(node_id node, const window& w, std::uint64_t offset, word operand) {
  const auto s = traced(trace_kind::atomic, node, sizeof(word));
  return port_.fetch_add(node, w, offset, operand);
}

result<word> traced_port::swap(node_id node, const window& w, std::uint64_t offset, word desired) {
  const auto s = traced(trace_kind::atomic, node, sizeof(word));
  return port_.swap(node, w, offset, desired);
}

result<word> traced_port::compare_swap(node_id node, const window& w, std::uint64_t offset, word expected, word desired) {
  const auto s = traced(trace_kind::atomic, node, sizeof(word));
  return port_.compare_swap(node, w, offset, expected, desired);
}

result<word> traced_port::fetch_and(node_id node, const window& w, std::uint64_t offset, word operand) {
  const auto s = traced(trace_kind::atomic, node, sizeof(word));
  return port_.fetch_and(node, w, offset, operand);
}

result<word> traced_port::fetch_or(node_id node, const window& w, std::uint64_t offset, word operand) {
  const auto s = traced(trace_kind::atomic, node, sizeof(word));
  return port_.fetch_or(node, w, offset, operand);
}

status traced_port::fence(node_id node) {
  const auto s = traced(trace_kind::fence, node, 0);
  return port_.fence(node);
}

status traced_port::enqueue(node_id node, const queue& q, word value) {
  const auto s = traced(trace_kind::enqueue, node, 1);
  return port_.enqueue(node, q, value);
}

status traced_port::enqueue(node_id node, const queue& q, std::span<const word> values) {
  const auto s = traced(trace_kind::enqueue, node, values.size());
  return port_.enqueue(node, q, values);
}

// Handlers see this port, so that what they send is traced as well.
void traced_port::on(handler_id id, handler h) {
  port_.on(id, [this, id, h = std::move(h)](const message& m) {
    const auto s = traced(trace_kind::handle, m.source, m.words.size_bytes() + m.payload.size(), id);
    h(message{*this, m.source, m.lane, m.words, m.payload});
  });
}

status traced_port::send(node_id node, lane l, handler_id id, std::span<const word> words, bytes payload) {
  const auto s = traced(trace_kind::send, node, words.size_bytes() + payload.size(), id);
  return port_.send(node, l, id, words, payload);
}

status traced_port::multicast_send(std::span<const node_id> to, lane l, handler_id id, std::span<const word> words, bytes payload) {
  const auto s = traced(trace_kind::send, observe::trace::nowhere, (words.size_bytes() + payload.size()) * to.size(), id);
  return port_.multicast_send(to, l, id, words, payload);
}

}  // namespace weft::runtime
