// Short waits: pause politely, or give the core away when there are more runnable nodes than cores.
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
  bool crowded = false;                             // more at work than there are cores on this host: yield at once, sleep soon
  unsigned yields = 16;                             // how often a crowded wait yields before it sleeps
};

// Counts one wait's patience. pause() burns a moment; spent() says when it is time to sleep.
class spinner {
 public:
  explicit spinner(const spin_policy& policy) noexcept : policy_(policy) {}

  void pause() noexcept {
    ++turns_;
    if (policy_.crowded)
      ::sched_yield();
    else
      os::pause();
  }

  // The same of who waits for another thread of this process, which may need this very core.
  void pause_for_another() noexcept {
    if (turns_ % 8 == 7 && !policy_.crowded) ::sched_yield();
    pause();
  }

  // The clock is read only every 64 turns: a wait that ends soon never reads it.
  bool spent() noexcept {
    if (policy_.crowded) return turns_ >= policy_.yields;
    if (turns_ % 64 != 63) return false;
    const auto t = base::now();
    if (started_ == 0) started_ = t;
    return t - started_ >= policy_.spin;
  }

  void restart() noexcept {
    turns_ = 0;
    started_ = 0;
  }

 private:
  const spin_policy& policy_;
  std::uint64_t turns_ = 0;
  base::nanoseconds started_ = 0;
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
