// Who waits, works: the role of the thread that moves a port along, and everybody's way of waiting.
//
// At most one thread holds the role: it polls the transport and runs handlers. A thread that waits takes the role if it is free;
// otherwise it follows: spins, then sleeps until the driver has made progress or lets go of the role. While no application thread
// waits, the communication thread serves the node: it sleeps until the transport has something for it.
//
// Nobody sleeps through news. A follower announces itself (followers_) before it looks at its condition and the role one last time,
// and sleeps on epoch_; the driver looks at followers_ after it has made progress and after it has let go of the role, and bumps
// epoch_ if there are any. Both sides are sequentially consistent, so one of them sees the other.
#pragma once

#include <atomic>
#include <thread>

#include <weft/port.h>

#include "base/clock.h"
#include "os/futex.h"
#include "os/spin.h"

namespace weft::fabric {

enum class sleeper : std::uint32_t { nobody = 0, communication = 1, application = 2 };

// What is driven: the port's side of the bargain.
class driven {
 public:
  // Does what there is to do; whether there was anything. Only the driver calls it.
  virtual bool drive_once() = 0;

  // Whether something has arrived that nobody has looked at, or a bell has rung since arm(). Asked by a thread that has just let go
  // of the role.
  virtual bool pending() = 0;

  // Whether there is work left that waits for room or for a bell. Only the driver asks, before it lets go of the role.
  virtual bool unfinished() = 0;

  // `who` is about to sleep for this node, or is awake again. A transport whose peers ring a bell tells them here.
  virtual void arm(sleeper who) = 0;
  virtual void disarm() = 0;

  // A follower is about to sleep, or is awake again. A transport whose peers bring news without a message tells them here.
  virtual void following(bool begins) { (void)begins; }

  // Sleeps until something arrives, the transport has work, or `limit` has passed. The communication thread calls it without the
  // role, an application thread with it.
  virtual void block(sleeper who, base::nanoseconds limit) = 0;

  // Wakes whoever is in block().
  virtual void kick() = 0;

 protected:
  ~driven() = default;
};

class driver {
 public:
  driver(driven& what, const os::spin_policy& spin) : what_(what), spin_(spin) {}
  ~driver() { stop(); }

  void start();  // the communication thread
  void stop();

  // Waits until `until` holds; false when `limit` has passed first. Counts what it did into `slept`.
  bool wait(condition until, base::nanoseconds limit, bool& slept);

  // One turn of work on the calling thread, if the role is free.
  bool poll();

  // Has all waits look at their conditions again.
  void wake_followers() noexcept;

  bool stopping() const noexcept { return stopping_.load(std::memory_order_relaxed); }

  // Whether the communication thread drives. Asked by the driver.
  bool serving() const noexcept { return serving_; }

  // Whether an application thread drives, or did a moment ago.
  bool held() const noexcept { return role_.load(std::memory_order_relaxed); }
  std::uint64_t turns() const noexcept { return turns_.load(std::memory_order_relaxed); }

 private:
  bool take_role() noexcept;
  void release_role() noexcept;
  bool turn();
  bool drive(condition until, os::spinner& spin, base::nanoseconds& deadline, base::nanoseconds limit, bool& slept);
  bool follow(condition until, os::spinner& spin, base::nanoseconds& deadline, base::nanoseconds limit, bool& slept);
  void serve();
  void communicate();

  driven& what_;
  const os::spin_policy spin_;
  std::atomic<bool> role_{false};
  bool serving_ = false;  // the driver's
  std::atomic<std::uint32_t> followers_{0};
  os::futex_word epoch_{0};
  std::atomic<std::uint64_t> turns_{0};  // application threads' turns as driver, for transports that guess who will drive next
  std::atomic<bool> stopping_{false};
  std::thread communication_;
};

}  // namespace weft::fabric
