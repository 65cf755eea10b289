#include "fabric/driver.h"

#include <algorithm>

namespace weft::fabric {

namespace {

// A sleeping wait looks around at least this often: the news it waits for may have no bell (a store through a mapping, a node that
// died without a word).
constexpr base::nanoseconds longest_sleep = 250 * base::millisecond;

constexpr base::nanoseconds linger = 20 * base::microsecond;

// Reads the clock only when somebody needs the time: most waits end before that.
base::nanoseconds time_left(base::nanoseconds& deadline, base::nanoseconds limit) noexcept {
  const auto t = base::now();
  if (deadline == 0) deadline = limit > INT64_MAX - t ? INT64_MAX : t + limit;
  return deadline - t;
}

}  // namespace

bool driver::take_role() noexcept {
  // Acquire pairs with the release in release_role: the last driver's work is visible.
  if (role_.load(std::memory_order_relaxed) || role_.exchange(true, std::memory_order_acquire)) return false;
  what_.disarm();
  return true;
}

void driver::release_role() noexcept {
  // From arm() on, peers ring the communication thread. What a bell was rung for before that, while we were awake, is looked at once
  // more: unfinished work now, arrivals after the role is free.
  do {
    what_.arm(sleeper::communication);
    if (what_.unfinished()) turn();
    role_.store(false);  // sequentially consistent: before the look at followers_
    if (followers_.load() != 0) wake_followers();
    if (!what_.pending() || !take_role()) return;
    turn();
  } while (true);
}

void driver::wake_followers() noexcept {
  epoch_.fetch_add(1);
  os::futex_wake(epoch_, INT32_MAX);
}

// One turn as driver. Followers hear of it only if something happened.
bool driver::turn() {
  if (!what_.drive_once()) return false;
  if (followers_.load() != 0) wake_followers();
  return true;
}

bool driver::poll() {
  if (!take_role()) return false;
  turns_.fetch_add(1, std::memory_order_relaxed);
  const bool worked = turn();
  release_role();
  return worked;
}

bool driver::wait(condition until, base::nanoseconds limit, bool& slept) {
  if (until()) return true;
  os::spinner spin(spin_);
  base::nanoseconds deadline = 0;
  while (true) {
    if (take_role()) {
      const bool held = drive(until, spin, deadline, limit, slept);
      release_role();
      return held;
    }
    if (follow(until, spin, deadline, limit, slept)) return true;
    if (deadline != 0 && time_left(deadline, limit) <= 0) return until();
  }
}

// With the role: works until the condition holds or time is up.
bool driver::drive(condition until, os::spinner& spin, base::nanoseconds& deadline, base::nanoseconds limit, bool& slept) {
  while (true) {
    turns_.fetch_add(1, std::memory_order_relaxed);
    if (turn()) spin.restart();
    if (until()) return true;
    spin.pause();
    if (!spin.spent()) continue;
    const auto left = time_left(deadline, limit);
    if (left <= 0) return false;
    what_.arm(sleeper::application);
    if (!turn() && !until()) {  // the last look, now that whoever brings news will ring
      slept = true;
      what_.block(sleeper::application, std::min(left, longest_sleep));
    }
    what_.disarm();
    if (followers_.load() != 0) wake_followers();  // a bell may be for them
    if (spin.crowded()) spin.restart();
  }
}

// Without the role: returns true when the condition holds, false when the role may be free or it is time to look at the clock.
bool driver::follow(condition until, os::spinner& spin, base::nanoseconds& deadline, base::nanoseconds limit, bool& slept) {
  while (!spin.spent()) {
    if (until()) return true;
    if (!role_.load(std::memory_order_relaxed)) return false;
    spin.pause();
  }
  const auto left = time_left(deadline, limit);
  followers_.fetch_add(1);
  what_.following(true);
  const std::uint32_t seen = epoch_.load();
  const bool held = until();
  if (!held && role_.load() && left > 0) {
    slept = true;
    os::futex_wait(epoch_, seen, std::min(left, longest_sleep));
  }
  what_.following(false);
  followers_.fetch_sub(1);
  return held || until();
}

void driver::start() {
  stopping_.store(false, std::memory_order_relaxed);
  communication_ = std::thread([this] { communicate(); });
}

void driver::stop() {
  if (!communication_.joinable()) return;
  stopping_.store(true);
  what_.kick();
  communication_.join();
}

// What others ask of a node seldom comes alone, and waking up takes longer than looking around a little longer.
void driver::serve() {
  for (base::nanoseconds worked = 0; !stopping();) {
    if (turn())
      worked = spin_.crowded ? 0 : base::now();
    else if (worked == 0 || base::now() - worked > linger)
      return;
    else
      os::pause();
  }
}

void driver::communicate() {
  while (!stopping()) {
    what_.block(sleeper::communication, base::second);
    if (!take_role()) continue;
    serving_ = true;
    serve();
    serving_ = false;
    release_role();
  }
}

}  // namespace weft::fabric
