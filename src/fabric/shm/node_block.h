// What a node on this host shows its peers: one memory file with its bell, its table of windows and queues, and the rings in which
// the others leave messages. Peers map it; the card says where it is.
//
// The bell. Whoever brings news (a message, a word, a nudge) looks at `asleep` afterwards and rings if somebody sleeps; whoever goes
// to sleep sets `asleep` and then looks for news once more. Both put a sequentially consistent fence between their store and their
// load, so at least one of them sees the other: no news is slept through, and nobody pays a system call while the node is awake.
//
// Hazards. A thread that touches a peer's window says so in its own node's `hazards` (window id and peer), so that revoke() can wait
// for accesses under way. The thread's store and its look at the window's `open` word need an order that would cost a fence on every
// put; instead the revoking side makes all processors pass one (membarrier), which is rare.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/thread_slot.h"
#include "fabric/driver.h"
#include "fabric/shm/ring.h"
#include "os/futex.h"

namespace weft::fabric::shm {

struct shown_window {
  std::atomic<std::uint64_t> capability;  // 0: not open. Written last, with release
  std::uint64_t size;
  std::uint64_t file_offset;
  std::int32_t file;
  rights allowed;
};

struct shown_queue {
  std::atomic<std::uint64_t> capability;
  std::uint64_t size;
  std::int32_t file;
};

struct node_block {
  static constexpr std::uint64_t the_magic = 0x31636f6c62746677;  // "wftbloc1"

  std::uint64_t magic;
  std::uint64_t group;
  std::uint32_t node;
  std::uint32_t nodes;

  alignas(line_bytes) std::atomic<std::uint32_t> asleep;         // a `sleeper`
  std::atomic<std::uint32_t> followers;                          // threads that sleep while another one drives
  alignas(line_bytes) std::atomic<std::uint32_t> for_followers;  // news for them: the driver takes it and wakes them
  alignas(line_bytes) std::array<os::futex_word, 3> bells;       // indexed by `sleeper`
  struct alignas(line_bytes) hazard {
    std::atomic<std::uint64_t> what;  // peer << 32 | window id; 0: none (window ids start at 1)
  };
  std::array<hazard, base::thread_slots> hazards;
  std::array<shown_window, port::most_windows> windows;
  std::array<shown_queue, port::most_queues> queues;

  // Rings follow: for every source, one a lane.
  ring& inbound(node_id source, lane l) noexcept {
    return reinterpret_cast<ring*>(this + 1)[source * lanes + static_cast<std::size_t>(l)];
  }
  static std::size_t footprint(node_id nodes) noexcept { return sizeof(node_block) + std::size_t{nodes} * lanes * sizeof(ring); }

  // Rings the bell if somebody sleeps. Goes after the news; fences itself.
  void ring_bell() noexcept {
    std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with the fence in shm_port::arm
    std::uint32_t who = asleep.load(std::memory_order_relaxed);
    if (who != 0 && asleep.compare_exchange_strong(who, 0, std::memory_order_relaxed)) wake(who);
  }
  // The same for words, which no handler has to see to: the communication thread, which sleeps when nobody waits, is left alone. The
  // caller's stores before it are sequentially consistent, or it has put a fence between; with the loads here they pair with the
  // fence in shm_port::arm and with the addition in shm_port::following.
  void ring_bell_of_waits() noexcept {
    if (followers.load() != 0) for_followers.store(1, std::memory_order_release);  // pairs with the exchange in poll_transport
    std::uint32_t who = asleep.load();
    if (who == static_cast<std::uint32_t>(sleeper::application) &&
        asleep.compare_exchange_strong(who, 0, std::memory_order_relaxed))
      wake(who);
  }
  void wake(std::uint32_t who) noexcept {
    bells[who].fetch_add(1, std::memory_order_release);
    os::futex_wake(bells[who], 1);
  }
};

}  // namespace weft::fabric::shm
