// A loop that waits for descriptors and for time: what the launcher and the agents live in. poll(2), because standard input may be
// a file, which epoll refuses.
//
// One thread. A callback may watch, forget, set and cancel anything, itself included.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "base/clock.h"

namespace weft::launch {

class reactor {
 public:
  using timer = std::uint64_t;

  // Calls `ready` whenever one of `events` (POLLIN, POLLOUT) holds for `fd`, or it was hung up. One watch a descriptor.
  void watch(int fd, short events, std::function<void()> ready);

  // 0 events: keep the watch, but call nothing until it is changed again.
  void change(int fd, short events);

  // To be called before the descriptor is closed.
  void forget(int fd);

  timer after(base::nanoseconds delay, std::function<void()> due);
  void cancel(timer t);

  // Waits until something is to be done, and does all that is.
  void turn();

 private:
  struct watched {
    short events;
    std::uint64_t serial;  // tells this watch from a later one of a descriptor with the same number
    std::shared_ptr<std::function<void()>> ready;
  };
  struct timed {
    base::nanoseconds due;
    std::function<void()> call;
  };

  int milliseconds_to_next_timer() const;
  void run_timers();

  std::map<int, watched> watches_;
  std::map<timer, timed> timers_;
  std::uint64_t serial_ = 0;
};

}  // namespace weft::launch
