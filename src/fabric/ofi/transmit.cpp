// Messages on their way out: frames, credits, and what happens when there is no room.
#include <cstring>

#include <rdma/fi_errno.h>

#include "fabric/ofi/ofi_port.h"
#include "fabric/own_handlers.h"

namespace weft::fabric::ofi {

namespace {

// Bytes [from, from + size) of a message's body: its words, then its payload.
void copy_body(std::byte* to, std::size_t from, std::size_t size, bytes words, bytes payload) {
  if (from < words.size()) {
    const std::size_t n = std::min(size, words.size() - from);
    std::memcpy(to, words.data() + from, n);
    to += n;
    size -= n;
    from = 0;
  } else {
    from -= words.size();
  }
  if (size > 0) std::memcpy(to, payload.data() + from, size);
}

}  // namespace

// Whether a message sent now would be seen after all remote memory access that was issued before it.
bool ofi_port::clear_to_send(const peer& p) const noexcept {
  // Acquire pairs with the release of whoever counts down: the operation is complete.
  return (plan().send_after_write || p.writes.load(std::memory_order_acquire) == 0) &&
         (plan().send_after_read || p.reads.load(std::memory_order_acquire) == 0);
}

// A header that takes along the credits that the peer is owed.
frame_header ofi_port::header_for(peer& p, lane l) {
  frame_header h;
  h.group = options_.group;
  h.source = self();
  h.lane = l;
  for (std::size_t i = 0; i < lanes; ++i)
    if (p.owed[i].load(std::memory_order_relaxed) != 0)
      h.returned[i] = static_cast<std::uint16_t>(p.owed[i].exchange(0, std::memory_order_relaxed));
  return h;
}

bool ofi_port::try_transmit(node_id node, lane l, handler_id id, std::span<const word> words, bytes payload) {
  peer& p = peers_[node];
  const auto i = static_cast<std::size_t>(l);
  const std::size_t body = words.size_bytes() + payload.size(), frames = frames_of(body, plan().slot);
  {
    std::scoped_lock lock(p.lock);
    // Only senders take credits, under the lock; the driver adds.
    if (!p.unsent.empty() || p.credits[i].load(std::memory_order_relaxed) < frames || !clear_to_send(p)) return false;
    frame_header h = header_for(p, l);
    h.handler = id;
    h.words = static_cast<std::uint8_t>(words.size());
    h.payload = static_cast<std::uint32_t>(payload.size());
    h.sequence = p.sequence[i];
    const auto spent = static_cast<std::uint32_t>(frames);
    p.credits[i].fetch_sub(spent, std::memory_order_relaxed);  // first: the peer may return them before we are back
    const bool sent =
        sizeof h + body <= inject_limit_ ? inject_message(p, h, words, payload) : post_message(node, h, frames, words, payload);
    if (!sent) {
      p.credits[i].fetch_add(spent, std::memory_order_relaxed);
      for (std::size_t k = 0; k < lanes; ++k) p.owed[k].fetch_add(h.returned[k], std::memory_order_relaxed);
      return false;
    }
    p.sequence[i] += spent;
    // Counted here, where the order is made: a round trip whose request is sent later settles it, and no earlier one.
    if (l == lane::request) p.sent.issue();
    if (id == own::put || id == own::put_runs || id == own::enqueue) p.served.issue();
  }
  p.unanswered.store(true, std::memory_order_relaxed);  // the watch looks at it now and then; late is soon enough
  ring(p);
  return true;
}

bool ofi_port::inject_message(peer& p, frame_header h, std::span<const word> words, bytes payload) {
  alignas(8) std::byte frame[4096];
  std::memcpy(frame, &h, sizeof h);
  copy_body(frame + sizeof h, 0, h.body(), std::as_bytes(words), payload);
  const auto code = endpoint_.inject({frame, sizeof h + h.body()}, p.address);
  note(p, code);
  return code == 0;
}

// All frames or none are taken on; what the provider has no room for now, the driver posts later, before anything else to this peer.
bool ofi_port::post_message(node_id node, frame_header h, std::size_t frames, std::span<const word> words, bytes payload) {
  operation* taken[256];
  for (std::size_t k = 0; k < frames; ++k) {
    taken[k] = operations_.take(h.lane == lane::reply);
    if (taken[k]) continue;
    while (k > 0) operations_.give_back(taken[--k]);
    return false;
  }
  peer& p = peers_[node];
  const std::size_t room = plan().slot - sizeof h, body = h.body();
  for (std::size_t k = 0; k < frames; ++k) {
    operation* o = taken[k];
    const std::size_t from = k * room, size = std::min(room, body - from);
    o->kind = operation::what::send;
    o->node = node;
    o->size = sizeof h + size;
    h.index = static_cast<std::uint8_t>(k);
    std::memcpy(o->buffer, &h, sizeof h);
    copy_body(o->buffer + sizeof h, from, size, std::as_bytes(words), payload);
    if (!p.unsent.empty() || !post_frame(p, o)) {
      p.unsent.push_back(o);
      unsent_frames_.fetch_add(1, std::memory_order_relaxed);
    }
    ++h.sequence;
    for (auto& r : h.returned) r = 0;  // once is enough
  }
  return true;
}

bool ofi_port::post_frame(peer& p, operation* o) {
  const auto code = endpoint_.send(*o, p.address);
  note(p, code);
  return code == 0;
}

bool ofi_port::flush_unsent() {
  bool any = false;
  for (node_id node = 0; node < nodes(); ++node) {
    peer& p = peers_[node];
    std::scoped_lock lock(p.lock);
    while (!p.unsent.empty()) {
      operation* o = p.unsent.front();
      if (failed(node))
        operations_.give_back(o);
      else if (!post_frame(p, o))
        break;
      p.unsent.pop_front();
      unsent_frames_.fetch_sub(1, std::memory_order_relaxed);
      any = true;
    }
    if (any) ring(p);
  }
  return any;
}

// Tells peers of credits that they may be waiting for, and answers pings.
void ofi_port::return_credits() {
  if (!control_due_.exchange(false, std::memory_order_acquire)) return;
  const std::uint32_t kept = credits_kept(plan().credits);
  for (node_id node = 0; node < nodes(); ++node) {
    peer& p = peers_[node];
    const bool pong = p.pong_due.load(std::memory_order_relaxed);
    const bool due = pong || p.owed[0].load(std::memory_order_relaxed) >= kept || p.owed[1].load(std::memory_order_relaxed) >= kept;
    if (!due || failed(node)) continue;
    if (send_control(p, pong ? frame_header::pong : 0))
      p.pong_due.store(false, std::memory_order_relaxed);
    else
      control_due_.store(true, std::memory_order_relaxed);
  }
}

// A control frame has a buffer waiting for it without credits: each returns half of a lane's, pings and pongs are one at a time.
bool ofi_port::send_control(peer& p, std::uint16_t flags) {
  frame_header h = header_for(p, lane::reply);
  h.kind = frame_kind::control;
  h.flags = flags;
  std::int64_t code = -FI_EAGAIN;
  if (sizeof h <= inject_limit_) {
    code = endpoint_.inject(base::bytes_of(h), p.address);
  } else if (operation* o = operations_.take(true)) {
    o->kind = operation::what::send;
    o->node = static_cast<node_id>(&p - peers_.get());
    o->size = sizeof h;
    std::memcpy(o->buffer, &h, sizeof h);
    code = endpoint_.send(*o, p.address);
    if (code != 0) operations_.give_back(o);
  }
  note(p, code);
  if (code == 0) {
    ring(p);
    return true;
  }
  for (std::size_t k = 0; k < lanes; ++k) p.owed[k].fetch_add(h.returned[k], std::memory_order_relaxed);
  return false;
}

// What a call returned. Errors are told by the driver: the caller may hold a lock.
void ofi_port::note(peer& p, std::int64_t code) noexcept {
  if (code == 0) return;
  if (code == -FI_EAGAIN) {
    congested_.store(true, std::memory_order_relaxed);
    p.unanswered.store(true, std::memory_order_relaxed);  // it may never have been there to take up a connection
    ring(p);  // the peer may have to do something first: take up the connection, or make room
    return;
  }
  p.error.store(static_cast<int>(code), std::memory_order_relaxed);
  errors_.store(true, std::memory_order_release);  // pairs with the acquire in report_errors
  kick();
}

}  // namespace weft::fabric::ofi
