// How the port sleeps.
//
// With a descriptor to wait on (tcp, verbs) the sleeper polls it. Without one, on one host, the peers ring a bell. Without either, it
// naps, longer the longer nothing happens.
#include <algorithm>

#include <poll.h>
#include <unistd.h>

#include <rdma/fi_errno.h>

#include "fabric/ofi/ofi_port.h"

namespace weft::fabric::ofi {

namespace {

// While application threads drive, the communication thread looks in this often, to take over when they stop.
constexpr base::nanoseconds look_in = 500 * base::microsecond;

// With something under way that only our own driving moves along, where nothing wakes us for it.
constexpr base::nanoseconds short_sleep = base::millisecond;

std::size_t index(sleeper who) {
  return static_cast<std::size_t>(who);
}

}  // namespace

// Whether something has arrived that nobody has looked at; asked when the role is free again. A descriptor stays readable, so there the
// communication thread finds it, if it is not at rest; a bell that rang for the thread that is leaving rings for nobody.
bool ofi_port::pending() {
  if (!bell_) {
    // Pairs with the fence in block_on_queue: the communication thread sees that the role is free, or we see it at rest.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (resting_.load(std::memory_order_relaxed) && resting_.exchange(false)) wake(sleeper::communication);
    return false;
  }
  std::scoped_lock lock(completions_lock_);
  if (!stash_.empty() || stashed_error_) return true;
  stash_completions();
  return !stash_.empty() || stashed_error_;
}

void ofi_port::arm(sleeper who) {
  if (bell_) bell_.arm(who);
}

void ofi_port::disarm() {
  if (bell_) bell_.disarm();
}

// Sequentially consistent: either the sleeper sees that it was kicked, or we see it asleep.
void ofi_port::kick() {
  for (const sleeper who : {sleeper::communication, sleeper::application}) {
    kicked_[index(who)].store(true);
    if (bell_)
      bell_.wake(who);
    else if (asleep_[index(who)].load())
      wake(who);
  }
}

void ofi_port::wake(sleeper who) {
  const std::uint64_t one = 1;
  (void)!::write(events_[index(who)].get(), &one, sizeof one);  // fails only when it is readable anyway
}

void ofi_port::block(sleeper who, base::nanoseconds limit) {
  if (driver_.stopping()) return;
  if (unsent_frames_.load(std::memory_order_relaxed) > 0 || control_due_.load(std::memory_order_relaxed) ||
      congested_.exchange(false, std::memory_order_relaxed))
    limit = std::min(limit, short_sleep);
  if (who == sleeper::application) driver_sleeps_.store(true, std::memory_order_relaxed);  // see stand_in: a late look costs a kick
  if (bell_)
    block_on_bell(who, limit);
  else if (endpoint_.wait_fd() >= 0)
    block_on_queue(who, limit);
  else
    nap(who, limit);
  if (who == sleeper::application) driver_sleeps_.store(false, std::memory_order_relaxed);
}

// The peers ring for what they send; what comes back for our own operations comes without a ring.
void ofi_port::block_on_bell(sleeper who, base::nanoseconds limit) {
  if (operations_.under_way() > 0) limit = std::min(limit, short_sleep);
  count(counter::system_calls);
  bell_.sleep(who, limit, [&](bool armed) {
    return !kicked_[index(who)].exchange(false) && (armed || (who == sleeper::communication && driver_.held()));
  });
}

void ofi_port::block_on_queue(sleeper who, base::nanoseconds limit) {
  if (who == sleeper::communication) {
    if (const auto turns = driver_.turns(); turns != seen_turns_) {  // somebody drives, or did a moment ago: stay out of the way
      seen_turns_ = turns;
      return sleep_on_events(who, false, std::min(limit, look_in));
    }
    if (driver_.held()) {  // and sleeps: rest until it lets go, which pending() tells
      resting_.store(true);
      std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with the fence in pending
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

}  // namespace weft::fabric::ofi
