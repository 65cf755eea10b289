// The simulator's one queue of events, in the order of simulated time. Events of the same time go in the order in which they were put in,
// so a run depends on nothing but its input.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace weft::sim {

using cycles = std::uint64_t;  // of the simulated processors' clock
inline constexpr cycles never = ~cycles{0} >> 1;

class event_queue {
 public:
  using action = std::function<void()>;

  // The time of the event that runs, or ran last; or the time that a processor has come to.
  cycles now() const noexcept { return now_; }

  // Not before now().
  void at(cycles when, action what) {
    assert(when >= now_);
    heap_.push_back({when, order_++, std::move(what)});
    std::push_heap(heap_.begin(), heap_.end(), later);
  }

  bool empty() const noexcept { return heap_.empty(); }
  cycles next() const noexcept { return heap_.empty() ? never : heap_.front().when; }

  // Runs the next event.
  void step() {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    const entry e = std::move(heap_.back());
    heap_.pop_back();
    now_ = e.when;
    ++happened_;
    e.what();
  }

  // Time goes on without an event; all that are left are later.
  void advance(cycles to) {
    assert(to <= next());
    now_ = std::max(now_, to);
  }

  std::uint64_t happened() const noexcept { return happened_; }

 private:
  struct entry {
    cycles when;
    std::uint64_t order;
    action what;
  };
  static bool later(const entry& a, const entry& b) noexcept { return std::pair(a.when, a.order) > std::pair(b.when, b.order); }

  std::vector<entry> heap_;
  cycles now_ = 0;
  std::uint64_t order_ = 0, happened_ = 0;
};

}  // namespace weft::sim
