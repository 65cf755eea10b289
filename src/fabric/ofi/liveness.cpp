// Whether the other nodes live. A thread of its own asks, and answers for this node when its driver cannot: a handler may take its time
// without making its node look dead.
//
// On one host the kernel knows whether a process lives. Elsewhere a node that owes us a sign of life is asked for one after a third of
// the time that makes it dead. And each node keeps an eye on the next one, whether it owes anything or not: so a host that is cut off
// is found in a job in which all others wait.
#include <algorithm>
#include <condition_variable>
#include <cstring>

#include <poll.h>
#include <sys/mman.h>

#include <rdma/fi_errno.h>

#include "base/text.h"
#include "fabric/ofi/ofi_port.h"

namespace weft::fabric::ofi {

namespace {

constexpr base::nanoseconds longest_interval = 200 * base::millisecond;

}  // namespace

void ofi_port::watch(std::stop_token stop) {
  const std::chrono::nanoseconds interval(std::min(longest_interval, options_.dead_after / 8));
  std::mutex mine;
  std::condition_variable_any rest;
  std::unique_lock lock(mine);
  std::uint64_t seen_turns = 0;
  while (!rest.wait_for(lock, stop, interval, [&] { return stop.stop_requested(); })) {
    if (const auto turns = turns_.load(std::memory_order_relaxed); turns == std::exchange(seen_turns, turns)) stand_in();
    node_id next = self();
    do next = (next + 1) % nodes();
    while (next != self() && failed(next));
    const auto now = base::now();
    for (node_id node = 0; node < nodes(); ++node)
      if (node != self() && !failed(node)) look_after(node, node == next, now);
  }
}

// The driver has not looked at the queue since our last look: it sleeps, or it is in a handler. Then the queue is read in its place, so
// that connections are taken up and pings are answered; what came stays in the stash until the driver is back.
void ofi_port::stand_in() {
  if (!driver_.held() || driver_sleeps_.load(std::memory_order_relaxed)) return;
  {
    std::scoped_lock lock(completions_lock_);
    stash_completions();
  }
  if (control_due_.load(std::memory_order_relaxed)) return_credits();
  kick();  // it may have gone to sleep meanwhile, and what it would wake for is in the stash
}

// Under completions_lock_. Bounded by the operations that there are.
void ofi_port::stash_completions() {
  fi_cq_msg_entry entries[32];
  while (!stashed_error_) {
    const auto n = read_queue(entries);
    if (n == -FI_EAVAIL) stashed_error_ = true;
    if (n <= 0) return;
    stash_.insert(stash_.end(), entries, entries + n);
  }
}

// Under completions_lock_. Signs of life are noted by whoever reads the queue: the driver may be long in coming to them.
std::int64_t ofi_port::read_queue(std::span<fi_cq_msg_entry> into) {
  const auto n = endpoint_.read_completions(into);
  for (std::int64_t i = 0; i < n; ++i) {
    const operation* o = operation::of(into[static_cast<std::size_t>(i)].op_context);
    if (!o || o->kind != operation::what::receive || into[static_cast<std::size_t>(i)].len < sizeof(frame_header)) continue;
    frame_header h;
    std::memcpy(&h, o->buffer, sizeof h);
    if (h.group != options_.group || h.source >= nodes()) continue;
    peer& p = peers_[h.source];
    p.unanswered.store(false, std::memory_order_relaxed);  // this and the next: the watch may be late to see them
    p.heard.store(p.heard.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    if (h.kind != frame_kind::control || !(h.flags & frame_header::ping)) continue;
    p.pong_due.store(true, std::memory_order_relaxed);
    control_due_.store(true, std::memory_order_release);  // pairs with the acquire in return_credits
  }
  return n;
}

void ofi_port::look_after(node_id node, bool always, base::nanoseconds now) {
  peer& p = peers_[node];
  if (p.alive) {
    pollfd process{p.alive.get(), POLLIN, 0};
    if (::poll(&process, 1, 0) != 1) return;
    if (!p.left_behind.empty()) ::shm_unlink(p.left_behind.c_str());
    return lose(node, base::format("its process (pid %d) has ended", p.pid));
  }
  const auto heard = p.heard.load(std::memory_order_relaxed);
  const bool owes = always || p.unanswered.load(std::memory_order_relaxed);
  if (!owes || heard != p.counted) {
    p.counted = heard;
    p.silent_since = now;
    p.pinged = false;
  } else if (now - p.silent_since > options_.dead_after) {
    lose(node, base::format("it has been silent for %.3g s", static_cast<double>(now - p.silent_since) / 1e9));
  } else if (!p.pinged && now - p.silent_since > options_.dead_after / 3) {
    p.pinged = send_control(p, frame_header::ping);
  }
}

}  // namespace weft::fabric::ofi
