// What a node keeps about each other node: how to reach it, what may be sent to it, what has come from it, and what is still under way.
#pragma once

#include <array>
#include <atomic>
#include <deque>
#include <string>
#include <vector>

#include <rdma/fabric.h>

#include "base/bytes.h"
#include "fabric/ofi/bell.h"
#include "fabric/ofi/frame.h"
#include "fabric/ofi/operation.h"
#include "os/spin.h"

namespace weft::fabric::ofi {

// A peer's window in the exporter's own words.
struct remote_window {
  std::uint64_t capability = 0;  // 0: not known, or withdrawn
  std::uint64_t size = 0;
  rights allowed = rights::none;
  bool keyed = false;  // whether remote memory access reaches it
  std::uint64_t key = 0;
  std::uint64_t address = 0;
};

// How much has been issued, and how much of it is known to have been performed.
class debt {
 public:
  // Under the peer's lock, when the message has been posted. Relaxed: who must see it has the lock's order or the caller's.
  void issue() noexcept { issued_.fetch_add(1, std::memory_order_relaxed); }
  std::uint64_t issued() const noexcept { return issued_.load(std::memory_order_relaxed); }
  bool open() const noexcept { return settled_.load(std::memory_order_relaxed) < issued(); }
  void settle(std::uint64_t up_to) noexcept {
    auto known = settled_.load(std::memory_order_relaxed);
    while (known < up_to && !settled_.compare_exchange_weak(known, up_to, std::memory_order_relaxed)) {
    }
  }

 private:
  std::atomic<std::uint64_t> issued_{0}, settled_{0};
};

// Frames of one lane as they arrive. The driver's.
struct inbound_lane {
  std::uint32_t expected = 0;     // the next frame's number
  std::vector<operation*> early;  // frames that came before their turn; at most the lane's credits
  base::byte_buffer assembly;     // the message whose frames are coming in
  std::uint32_t frames = 0;       // of it, so far
};

struct peer {
  fi_addr_t address = FI_ADDR_UNSPEC;
  std::uint64_t flush_key = 0, flush_address = 0;  // a word there that anybody may read

  // Everything that is posted to the peer is posted under this lock: it makes the order. Guards the members up to the blank line.
  os::spin_lock lock;
  std::array<std::uint32_t, lanes> sequence{};
  std::deque<operation*> unsent;       // frames of accepted messages that the provider had no room for
  std::vector<remote_window> windows;  // by id
  status deferred;                     // the first failure of a put since the last fence

  std::array<std::atomic<std::uint32_t>, lanes> credits{};  // frames that may still be sent
  std::array<std::atomic<std::uint32_t>, lanes> owed{};     // credits to be returned
  std::atomic<std::uint32_t> writes{0}, reads{0};           // remote memory operations under way
  std::atomic<int> error{0};                                // of a call that failed; the driver tells of it
  debt served;  // puts and words that went as messages: later remote memory access would overtake them
  debt sent;    // all messages of the request lane

  std::array<inbound_lane, lanes> in;

  // Liveness. A peer that has been sent something and has been silent since is asked for a sign of life.
  std::atomic<bool> unanswered{false};
  std::atomic<std::uint32_t> heard{0};  // frames
  std::atomic<bool> pong_due{false};
  std::uint32_t counted = 0;  // of `heard`; this and the next two: the watch's
  base::nanoseconds silent_since = 0;
  bool pinged = false;
  pid_t pid = 0;
  os::unique_fd alive;      // a pidfd, on one host: readable when the process is gone
  std::string left_behind;  // a file in shared memory that goes with the process, or none

  ofi::bell bell;
};

}  // namespace weft::fabric::ofi
