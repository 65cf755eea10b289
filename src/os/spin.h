// Short waits: pause politely, or give the core away when others want it.
#pragma once

#include <atomic>
#include <cstdint>

#include <sched.h>

#include "base/clock.h"

namespace weft::os {

inline void pause() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// How a wait spends its time before it sleeps.
struct spin_policy {
  base::nanoseconds spin = 500 * base::microsecond;  // busy time before sleeping, when cores are to spare
  bool crowded = false;                              // more nodes than cores on this host: yield at once, sleep soon
  unsigned yields = 16;                              // how often a crowded wait yields before it sleeps
};

// Counts one wait's patience. pause() burns a moment; spent() says when it is time to sleep.
class spinner {
 public:
  explicit spinner(const spin_policy& policy) noexcept : policy_(policy), crowded_(policy.crowded) {}

  void pause() noexcept {
    ++turns_;
    if (crowded_)
      ::sched_yield();
    else if (turns_ % turns_a_look != 0)
      os::pause();
    else
      look_around();
  }

  bool spent() const noexcept { return crowded_ ? turns_ >= policy_.yields : spun_ >= policy_.spin; }
  bool crowded() const noexcept { return crowded_; }

  void restart() noexcept {
    turns_ = 0;
    started_ = spun_ = 0;
  }

 private:
  static constexpr std::uint64_t turns_a_look = 32;  // a wait that ends soon neither reads the clock nor calls the kernel
  static constexpr base::nanoseconds somebody_computed = 20 * base::microsecond;

  // Threads of this node or other processes may want the core: the policy does not know of them. Where one has taken the core that was
  // offered, the rest of the wait is a crowded one.
  void look_around() noexcept {
    const auto before = base::now();
    ::sched_yield();
    const auto now = base::now();
    if (started_ == 0) started_ = before;
    spun_ = now - started_;
    if (now - before < somebody_computed) return;
    crowded_ = true;
    turns_ = 0;
  }

  const spin_policy& policy_;
  bool crowded_;
  std::uint64_t turns_ = 0;
  base::nanoseconds started_ = 0, spun_ = 0;
};

// A lock for a few instructions. Guards what its owner says; taken by threads of one process, or of several when it lies in shared
// memory. Waiting yields after a while, so a preempted holder gets the core.
class spin_lock {
 public:
  void lock() noexcept {
    for (unsigned turn = 0; !try_lock(); ++turn) {
      while (held_.load(std::memory_order_relaxed)) {
        if (++turn < 128)
          os::pause();
        else
          ::sched_yield();
      }
    }
  }
  // Acquire pairs with the release in unlock.
  bool try_lock() noexcept { return !held_.exchange(true, std::memory_order_acquire); }
  void unlock() noexcept { held_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> held_{false};
};

}  // namespace weft::os
