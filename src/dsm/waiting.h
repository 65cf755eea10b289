// Waiting inside a node, in the one way that works on threads and on fibers alike: port::wait.
#pragma once

#include <atomic>
#include <chrono>
#include <string>

#include <weft/port.h>

#include "os/spin.h"

namespace weft::dsm {

// Whether some node of the job has failed. The job cannot go on then, so every wait of synchronisation and coherence ends.
inline const char* const job_broken = "another node of the job has failed";
inline bool broken(const port& p) noexcept {
  return p.any_failed();
}

// Waits until `until` holds, as long as it takes, or until the job is broken.
template <typename F>
status wait_for(port& p, F&& until, const char* what) {
  bool gone = false;
  const auto enough = [&] { return until() || (gone = broken(p)); };
  while (true) {
    if (auto waited = p.wait(enough, std::chrono::seconds(1)); waited && !gone) return {};
    if (gone) break;
  }
  for (node_id n = 0; n < p.nodes(); ++n)
    if (p.failed(n)) return {errc::node_failed, "node " + std::to_string(n) + " has failed; gave up " + what};
  return {errc::node_failed, job_broken};
}

// The same for a word that other nodes store into: where they do that without a message, it is often there before the port would have
// been taken and let go again, which is a good part of what handing a lock over costs.
template <typename F>
status wait_for_store(port& p, F&& until, const char* what) {
  constexpr unsigned short_while = 64;
  if (p.can().mapped)
    for (unsigned turn = 0; turn < short_while; ++turn) {
      if (until()) return {};
      os::pause();
    }
  return wait_for(p, until, what);
}

// A lock whose holder may wait for the network. For fibers it must not be a std::mutex; for threads it need not be fast, because
// what it guards is not.
class gate {
 public:
  explicit gate(port& p) noexcept : port_(p) {}

  void lock() {
    if (try_lock()) [[likely]]
      return;
    waiters_.fetch_add(1);
    // Nobody holds a gate for ever: what its holder waits for ends when the job breaks. So the wait needs no end of its own. A
    // condition may be asked again after it has held.
    bool taken = false;
    while (!port_.wait([&] { return taken || (taken = try_lock()); }, std::chrono::seconds(1))) {
    }
    waiters_.fetch_sub(1);
  }
  // Sequentially consistent: whoever fails has said before that it waits, and the holder looks for that after unlock.
  bool try_lock() { return !held_.load() && !held_.exchange(true); }
  void unlock() {
    give();
    wake();
  }

  // unlock in two steps, for who must not call the port yet. Whoever gives must wake soon.
  void give() { held_.store(false); }  // sequentially consistent: before the look at waiters_
  void wake() {
    //~ gate_wakes_nobody
    if (waiters_.load() != 0) port_.nudge(port_.self()).ignore();
  }

 private:
  port& port_;
  std::atomic<bool> held_{false};
  std::atomic<std::uint32_t> waiters_{0};
};

}  // namespace weft::dsm
