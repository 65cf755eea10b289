// How the port sleeps, and how it notices that a node is gone.
//
// With a descriptor to wait on (tcp, verbs) the sleeper polls it. Without one, on one host, the peers ring a bell. Without either, it
// naps, longer the longer nothing happens.
#include <algorithm>

#include <poll.h>
#include <unistd.h>

#include <rdma/fi_errno.h>

#include "base/text.h"
#include "fabric/ofi/ofi_port.h"

namespace weft::fabric::ofi {

namespace {

// While application threads drive, the communication thread looks in this often, to take over when they stop.
constexpr base::nanoseconds look_in = 500 * base::microsecond;

// With something under way that only our own driving moves along, where nothing wakes us for it.
constexpr base::nanoseconds short_sleep = base::millisecond;

constexpr base::nanoseconds census_interval = 200 * base::millisecond;

std::size_t index(sleeper who) { return static_cast<std::size_t>(who); }

}  // namespace

// Whether something has arrived that nobody has looked at. A descriptor stays readable, so there the communication thread finds it; a
// bell that rang for the thread that is leaving rings for nobody.
bool ofi_port::pending() {
  if (!bell_) return false;
  std::scoped_lock lock(completions_lock_);
  if (!stash_.empty() || stashed_error_) return true;
  fi_cq_msg_entry entries[8];
  const auto n = endpoint_.read_completions(entries);
  if (n > 0) stash_.assign(entries, entries + n);
  stashed_error_ = n == -FI_EAVAIL;
  return n > 0 || stashed_error_;
}

void ofi_port::arm(sleeper who) {
  if (bell_) return bell_.arm(who);
  if (who == sleeper::communication && resting_.load(std::memory_order_relaxed) && resting_.exchange(false)) {
    const std::uint64_t one = 1;
    (void)!::write(events_[index(who)].get(), &one, sizeof one);
  }
}

void ofi_port::disarm() {
  if (bell_) bell_.disarm();
}

// Sequentially consistent: either the sleeper sees that it was kicked, or we see it asleep.
void ofi_port::kick() {
  for (const sleeper who : {sleeper::communication, sleeper::application}) {
    kicked_[index(who)].store(true);
    if (bell_) {
      bell_.wake(who);
    } else if (asleep_[index(who)].load()) {
      const std::uint64_t one = 1;
      (void)!::write(events_[index(who)].get(), &one, sizeof one);
    }
  }
}

void ofi_port::block(sleeper who, base::nanoseconds limit) {
  if (driver_.stopping()) return;
  if (unsent_frames_.load(std::memory_order_relaxed) > 0 || control_due_.load(std::memory_order_relaxed) ||
      congested_.exchange(false, std::memory_order_relaxed))
    limit = std::min(limit, short_sleep);
  if (bell_)
    block_on_bell(who, limit);
  else if (endpoint_.wait_fd() >= 0)
    block_on_queue(who, limit);
  else
    nap(who, limit);
  take_census();
}

// The peers ring for what they send; what comes back for our own operations comes without a ring.
void ofi_port::block_on_bell(sleeper who, base::nanoseconds limit) {
  if (operations_.under_way() > 0) limit = std::min(limit, short_sleep);
  if (kicked_[index(who)].exchange(false)) return;
  count(counter::system_calls);
  bell_.sleep(who, limit, [&] { return who == sleeper::communication && driver_.held(); });
}

void ofi_port::block_on_queue(sleeper who, base::nanoseconds limit) {
  if (who == sleeper::communication) {
    if (const auto turns = driver_.turns(); turns != seen_turns_) {  // somebody drives, or did a moment ago: stay out of the way
      seen_turns_ = turns;
      return sleep_on_events(who, false, std::min(limit, look_in));
    }
    if (driver_.held()) {  // and sleeps: rest until it lets go, which arm() tells
      resting_.store(true);
      if (driver_.held()) sleep_on_events(who, false, limit);
      resting_.store(false);
      return;
    }
  }
  sleep_on_events(who, true, limit);
}

void ofi_port::sleep_on_events(sleeper who, bool with_queue, base::nanoseconds limit) {
  asleep_[index(who)].store(true);
  if (!kicked_[index(who)].exchange(false) && !driver_.stopping() && (!with_queue || endpoint_.may_sleep())) {
    pollfd what[2] = {{events_[index(who)].get(), POLLIN, 0}, {endpoint_.wait_fd(), POLLIN, 0}};
    const timespec time{limit / base::second, limit % base::second};
    count(counter::system_calls);
    ::ppoll(what, with_queue ? 2 : 1, &time, nullptr);
    std::uint64_t rung = 0;
    if (what[0].revents != 0) (void)!::read(events_[index(who)].get(), &rung, sizeof rung);
  }
  asleep_[index(who)].store(false);
}

// Grows from a tenth of a millisecond for a thread that waits for something (one for the communication thread) to twenty: four idle
// nodes stay below a hundredth of a core.
void ofi_port::nap(sleeper who, base::nanoseconds limit) {
  const auto now = base::now();
  const auto busy = busy_.load(std::memory_order_relaxed);
  if (busy != seen_busy_[index(who)] || quiet_since_[index(who)] == 0) {
    seen_busy_[index(who)] = busy;
    quiet_since_[index(who)] = now;
  }
  const auto least = who == sleeper::application ? base::millisecond / 10 : base::millisecond;
  const auto most = operations_.under_way() > 0 ? short_sleep : 20 * base::millisecond;
  const auto time = std::clamp((now - quiet_since_[index(who)]) / 8, least, std::max(least, most));
  sleep_on_events(who, false, std::min(limit, time));
}

// --- liveness ---------------------------------------------------------------------------------------------------------------------

// Taken by whoever sleeps, a few times a second.
void ofi_port::take_census() {
  std::unique_lock lock(census_lock_, std::try_to_lock);
  if (!lock) return;
  const auto now = base::now();
  if (now - last_census_ < std::min(census_interval, options_.dead_after / 8)) return;
  last_census_ = now;
  for (node_id node = 0; node < nodes(); ++node)
    if (node != self() && !failed(node)) look_after(node, now);
}

// On one host the kernel knows whether a process lives. Elsewhere a node that owes us a sign of life is asked for one after a third of
// the time that makes it dead.
void ofi_port::look_after(node_id node, base::nanoseconds now) {
  peer& p = peers_[node];
  if (p.alive) {
    pollfd process{p.alive.get(), POLLIN, 0};
    if (::poll(&process, 1, 0) == 1) lose(node, base::format("its process (pid %d) has ended", p.pid));
    return;
  }
  const auto heard = p.heard.load(std::memory_order_relaxed);
  if (!p.unanswered.load(std::memory_order_relaxed) || heard != p.counted) {
    p.counted = heard;
    p.silent_since = 0;
    p.pinged = false;
  } else if (p.silent_since == 0) {
    p.silent_since = now;
  } else if (now - p.silent_since > options_.dead_after) {
    lose(node, base::format("it has been silent for %.3g s", static_cast<double>(now - p.silent_since) / 1e9));
  } else if (!p.pinged && now - p.silent_since > options_.dead_after / 3) {
    p.pinged = send_control(p, frame_header::ping);
  }
}

}  // namespace weft::fabric::ofi
