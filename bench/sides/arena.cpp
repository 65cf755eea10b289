#include "bench/sides/arena.h"

#include <ctime>
#include <new>

#include <unistd.h>

#include "base/clock.h"

namespace weft::bench {
namespace {

struct whereabouts {
  std::int32_t pid = 0, file = -1;
};

}  // namespace

shared_arena::shared_arena(job& all) : self_(all.self()), nodes_(all.nodes()) {
  const std::size_t size = os::round_to_pages(sizeof(arena));
  if (self_ == 0) file_ = os::create_memory_file("weft-bench", size).or_throw();
  const auto leader = all.exchange_values(whereabouts{::getpid(), file_.get()})[0];
  if (self_ != 0) file_ = os::open_descriptor_of(leader.pid, leader.file, true).or_throw();
  where_ = os::map_file(file_.get(), 0, size, true).or_throw();
  at_ = self_ == 0 ? new (where_.base()) arena : reinterpret_cast<arena*>(where_.base());
  all.meet();
}

void shared_arena::meet() {
  ++meetings_;
  at_->arrived[self_].value.store(meetings_);
  for (std::size_t other = 0; other < nodes_; ++other)
    // Acquire pairs with the store above.
    wait_patiently([&] { return at_->arrived[other].value.load(std::memory_order_acquire) >= meetings_; });
}

void wait_patiently(condition until) {
  constexpr base::nanoseconds busy = 2 * base::millisecond, limit = 60 * base::second;
  const auto start = base::now();
  while (true) {
    for (int i = 0; i < 1000; ++i)
      if (until()) return;
    const auto waited = base::now() - start;
    if (waited > limit) throw error(errc::timed_out, "the other node did not come to the measurement within a minute");
    const timespec moment{0, 20'000};
    if (waited > busy) ::nanosleep(&moment, nullptr);
  }
}

}  // namespace weft::bench
