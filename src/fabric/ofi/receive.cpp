// What arrives: completions, frames, and their way to the handlers. All of it runs on the thread that drives.
#include <algorithm>
#include <cstring>

#include <rdma/fi_errno.h>

#include "base/text.h"
#include "fabric/ofi/ofi_port.h"

namespace weft::fabric::ofi {

namespace {

constexpr std::size_t batch = 32;
constexpr int batches_a_turn = 4;  // so that waits look at their conditions now and then

// Errors that say that the operation was refused rather than that the node is gone.
bool is_refusal(int error) noexcept {
  return error == FI_EACCES || error == FI_ENOKEY || error == FI_EKEYREJECTED || error == FI_EPERM || error == FI_EINVAL;
}

}  // namespace

bool ofi_port::poll_transport() {
  turns_.store(turns_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);  // for the watch
  bool worked = deliver_parked();
  fi_cq_msg_entry entries[batch];
  for (int turn = 0; turn < batches_a_turn; ++turn) {
    const auto n = next_completions(entries);
    if (n == -FI_EAVAIL) {
      complete_with_error();
      worked = true;
      continue;
    }
    if (n <= 0) break;
    for (std::int64_t i = 0; i < n; ++i) complete(entries[i]);
    worked = true;
    if (n < static_cast<std::int64_t>(batch)) break;
  }
  if (unsent_frames_.load(std::memory_order_relaxed) > 0) worked |= flush_unsent();
  if (!unposted_.empty())
    for (operation* o : std::exchange(unposted_, {})) post_receive(*o);
  if (control_due_.load(std::memory_order_relaxed)) return_credits();
  if (errors_.load(std::memory_order_relaxed)) report_errors();
  if (worked) busy_.fetch_add(1, std::memory_order_relaxed);
  return worked;
}

std::int64_t ofi_port::next_completions(std::span<fi_cq_msg_entry> into) {
  std::scoped_lock lock(completions_lock_);
  if (!stash_.empty()) {
    const std::size_t n = std::min(stash_.size(), into.size());
    std::copy_n(stash_.begin(), n, into.begin());
    stash_.erase(stash_.begin(), stash_.begin() + static_cast<std::ptrdiff_t>(n));
    return static_cast<std::int64_t>(n);
  }
  if (std::exchange(stashed_error_, false)) return -FI_EAVAIL;
  return read_queue(into);
}

void ofi_port::complete(const fi_cq_msg_entry& e) {
  operation* o = operation::of(e.op_context);
  if (!o) return;
  switch (o->kind) {
    case operation::what::receive: return take_frame(*o, e.len);
    case operation::what::send: return operations_.give_back(o);
    case operation::what::write:
      peers_[o->node].writes.fetch_sub(1, std::memory_order_release);  // pairs with the acquire in clear_to_send
      return finish_operation(*o, 0);
    case operation::what::read: return take_read(*o, 0);
    case operation::what::atomic: return finish_operation(*o, 0);
  }
}

void ofi_port::complete_with_error() {
  fi_cq_err_entry e{};
  {
    std::scoped_lock lock(completions_lock_);
    if (!endpoint_.read_error(e)) return;
  }
  operation* o = operation::of(e.op_context);
  if (!o) return;  // a provider that cannot say which: a wait's patience finds out
  if (o->kind == operation::what::receive) {
    if (e.err != FI_ECANCELED) post_receive(*o);
    return;
  }
  const node_id node = o->node;
  peer& p = peers_[node];
  const bool refused = is_refusal(e.err) && o->kind != operation::what::send;
  if (!refused) lose(node, base::format("libfabric cannot reach it: %s", endpoint_.explain(e).c_str()));
  switch (o->kind) {
    case operation::what::write:
      if (refused && o->state.load(std::memory_order_relaxed) == operation::wait::nobody) {
        std::scoped_lock lock(p.lock);
        if (p.deferred.ok())
          p.deferred = {errc::revoked, base::format("node %u refused a put: %s", node, endpoint_.explain(e).c_str())};
      }
      p.writes.fetch_sub(1, std::memory_order_release);  // pairs with the acquire in clear_to_send
      return finish_operation(*o, e.err);
    case operation::what::read: return take_read(*o, e.err);
    case operation::what::atomic: return finish_operation(*o, e.err);
    default: return operations_.give_back(o);
  }
}

// Acquire and release: the waiter sees the results, and whoever gives an operation back has seen the other let go.
void ofi_port::finish_operation(operation& o, int error) {
  if (o.state.load(std::memory_order_acquire) == operation::wait::nobody) return operations_.give_back(&o);
  o.error = error;
  if (o.state.exchange(operation::wait::over, std::memory_order_acq_rel) == operation::wait::abandoned) operations_.give_back(&o);
}

// --- frames -----------------------------------------------------------------------------------------------------------------------

void ofi_port::post_receive(operation& o) {
  o.kind = operation::what::receive;
  if (endpoint_.receive(o, plan().slot) != 0) unposted_.push_back(&o);
}

// Everything in a header comes from outside.
bool ofi_port::well_formed(const frame_header& h, std::size_t length) const noexcept {
  if (h.group != options_.group || h.source >= nodes() || h.source == self()) return false;
  if (h.kind == frame_kind::control) return length == sizeof h;
  if (h.kind != frame_kind::message || h.lane > lane::reply || h.words > most_words || h.payload > most_payload) return false;
  const std::size_t room = plan().slot - sizeof h, from = h.index * room;
  if (h.index >= frames_of(h.body(), plan().slot)) return false;
  return length == sizeof h + std::min(room, h.body() - from);
}

void ofi_port::take_frame(operation& o, std::size_t length) {
  frame_header h;
  std::memcpy(&h, o.buffer, sizeof h);
  if (length < sizeof h || !well_formed(h, length)) {
    rejected_.fetch_add(1, std::memory_order_relaxed);
    return post_receive(o);
  }
  peer& p = peers_[h.source];
  for (std::size_t i = 0; i < lanes; ++i)
    if (h.returned[i] != 0) {
      const std::uint32_t most = plan().credits - std::min(plan().credits, p.credits[i].load(std::memory_order_relaxed));
      p.credits[i].fetch_add(std::min<std::uint32_t>(h.returned[i], most), std::memory_order_relaxed);
    }
  if (h.kind == frame_kind::control) return post_receive(o);
  inbound_lane& in = p.in[static_cast<std::size_t>(h.lane)];
  const std::uint32_t ahead = h.sequence - in.expected;
  if (ahead == 0) {
    take_in_order(o);
  } else if (ahead < plan().credits) {
    in.early.push_back(&o);
    return;
  } else {
    rejected_.fetch_add(1, std::memory_order_relaxed);
    return post_receive(o);
  }
  auto is_next = [&](operation* e) { return reinterpret_cast<const frame_header*>(e->buffer)->sequence == in.expected; };
  for (auto next = in.early.begin(); (next = std::find_if(in.early.begin(), in.early.end(), is_next)) != in.early.end();) {
    operation* e = *next;
    in.early.erase(next);
    take_in_order(*e);
  }
}

void ofi_port::take_in_order(operation& o) {
  frame_header h;
  std::memcpy(&h, o.buffer, sizeof h);
  inbound_lane& in = peers_[h.source].in[static_cast<std::size_t>(h.lane)];
  ++in.expected;
  const std::size_t frames = frames_of(h.body(), plan().slot);
  if (frames == 1) return deliver(h, &o, {});
  if (h.index == 0) {
    in.assembly.resize(h.body());
    in.frames = 0;
  }
  const std::size_t room = plan().slot - sizeof h, from = h.index * room;
  const bool fits = h.index == in.frames && in.assembly.size() == h.body();
  if (fits) std::memcpy(in.assembly.data() + from, o.buffer + sizeof h, std::min(room, h.body() - from));
  post_receive(o);
  if (!fits) {
    rejected_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  if (++in.frames == frames) deliver(h, nullptr, std::exchange(in.assembly, {}));
}

// To the handler, or to where requests wait their turn. A frame's buffer and credits are free when its message has been handled.
void ofi_port::deliver(const frame_header& h, operation* frame, base::byte_buffer body) {
  if (h.lane == lane::request && (!parked_.empty() || !requests_welcome())) {
    parked_.push_back({h, frame, std::move(body)});
    return;
  }
  hand_over(h, frame ? frame->buffer + sizeof h : body.data());
  if (frame) post_receive(*frame);
}

void ofi_port::hand_over(const frame_header& h, const std::byte* body) {
  const std::span<const word> words(reinterpret_cast<const word*>(body), h.words);
  dispatch(h.source, h.lane, h.handler, words, {body + words.size_bytes(), h.payload});
  peer& p = peers_[h.source];
  auto& owed = p.owed[static_cast<std::size_t>(h.lane)];
  const auto frames = static_cast<std::uint32_t>(frames_of(h.body(), plan().slot));
  if (owed.fetch_add(frames, std::memory_order_relaxed) + frames >= credits_kept(plan().credits))
    control_due_.store(true, std::memory_order_release);  // pairs with the acquire in return_credits
}

bool ofi_port::deliver_parked() {
  bool any = false;
  while (!parked_.empty() && requests_welcome()) {
    const parked next = std::move(parked_.front());
    parked_.pop_front();
    hand_over(next.header, next.frame ? next.frame->buffer + sizeof(frame_header) : next.body.data());
    if (next.frame) post_receive(*next.frame);
    any = true;
  }
  return any;
}

// --- failures ---------------------------------------------------------------------------------------------------------------------

void ofi_port::lose(node_id node, const std::string& how) {
  if (failed(node)) return;
  tell_unreachable(node, how);  // first: whoever waits for the node may end the program
  mark_failed(node, how);
}

void ofi_port::report_errors() {
  if (!errors_.exchange(false, std::memory_order_acquire)) return;  // pairs with the release in note
  for (node_id node = 0; node < nodes(); ++node)
    if (const int code = peers_[node].error.exchange(0, std::memory_order_relaxed); code != 0)
      lose(node, base::format("libfabric cannot reach it: %s", endpoint_.lib().explain(code).c_str()));
}

}  // namespace weft::fabric::ofi
