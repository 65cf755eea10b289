#include "observe/trace.h"

#include <algorithm>

namespace weft::observe {

namespace {

// Nobody holds a ring for longer than a copy of it takes. Acquire pairs with the release in the destructor.
class hold {
 public:
  explicit hold(std::atomic_flag& flag) noexcept : flag_(flag) {
    while (flag_.test_and_set(std::memory_order_acquire)) {
    }
  }
  ~hold() { flag_.clear(std::memory_order_release); }

 private:
  std::atomic_flag& flag_;
};

}  // namespace

void trace::add(std::size_t slot, const event& e) noexcept {
  if (slot == base::shared_thread_slot) return;
  ring& r = rings_[slot];
  const hold held(r.held);
  if (!r.events) r.events = std::make_unique_for_overwrite<event[]>(most_events);
  r.events[r.count++ % most_events] = e;
}

void trace::name(std::size_t slot, std::uint32_t number) noexcept {
  const hold held(rings_[slot].held);
  rings_[slot].number = number;
}

std::vector<trace::thread> trace::take() const {
  std::vector<thread> all;
  for (std::uint32_t slot = 0; slot < rings_.size(); ++slot) {
    const ring& r = rings_[slot];
    const hold held(r.held);
    if (r.count == 0) continue;
    thread t{slot, r.number, r.count > most_events ? r.count - most_events : 0, {}};
    t.events.reserve(r.count - t.lost);
    for (std::uint64_t i = t.lost; i < r.count; ++i) t.events.push_back(r.events[i % most_events]);
    all.push_back(std::move(t));
  }
  return all;
}

}  // namespace weft::observe
