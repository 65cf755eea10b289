// Shared memory, measured page by page: misses, writes and their release, and a home that has no time.
#include "base/clock.h"
#include "bench/sides/duo.h"
#include "bench/sides/memory_side.h"

namespace weft::bench {
namespace {

constexpr std::uint64_t few_pages = 64;  // that a busy home is asked for

double since(base::nanoseconds start) {
  return static_cast<double>(base::now() - start);
}

using order = std::span<const std::uint32_t> (memory_side::*)(std::size_t count) const;
constexpr order in_order = &memory_side::in_order, scattered = &memory_side::scattered;

template <order Order>
timing read_misses(duo& d, std::size_t, std::uint64_t count) {
  auto& side = d.pages();
  timing t;
  in_rounds(count, [&](std::size_t pages) {
    const auto list = (side.*Order)(pages);
    side.cool(list, true);
    const auto start = base::now();
    side.read(list);
    t.whole += since(start);
  });
  return t;
}

// A word in every page, and the unlock that makes them visible. The follower has had the lock before: the release of one that stays where
// it is would be put off.
template <order Order>
timing written_and_released(duo& d, std::size_t, std::uint64_t count) {
  auto& side = d.pages();
  timing t;
  in_rounds(count, [&](std::size_t pages) {
    const auto list = (side.*Order)(pages);
    side.cool(list, true);
    barrier();
    side.lock().lock();
    const auto start = base::now();
    side.write(list);
    side.lock().unlock();
    t.whole += since(start);
  });
  return t;
}

// The same with a barrier, which the other side waits at.
timing written_to_barrier(duo& d, std::size_t, std::uint64_t count) {
  auto& side = d.pages();
  timing t;
  in_rounds(count, [&](std::size_t pages) {
    const auto list = side.in_order(pages);
    side.cool(list, true);
    const auto start = base::now();
    side.write(list);
    barrier();
    t.whole += since(start);
  });
  return t;
}

template <order Order>
void cooled(duo& d, std::size_t, std::uint64_t count) {
  auto& side = d.pages();
  in_rounds(count, [&](std::size_t pages) { side.cool((side.*Order)(pages), false); });
}

template <order Order>
void cooled_and_locked(duo& d, std::size_t, std::uint64_t count) {
  auto& side = d.pages();
  in_rounds(count, [&](std::size_t pages) {
    side.cool((side.*Order)(pages), false);
    side.lock().lock();
    side.lock().unlock();
    barrier();
  });
}

void cooled_and_met(duo& d, std::size_t, std::uint64_t count) {
  auto& side = d.pages();
  in_rounds(count, [&](std::size_t pages) {
    side.cool(side.in_order(pages), false);
    barrier();
  });
}

// A few pages at a time. The follower waits for the leader at a barrier, which is what a node without work does, or computes.
timing few_read(duo& d, std::size_t, std::uint64_t count) {
  auto& side = d.pages();
  const auto list = side.scattered(few_pages);
  timing t;
  for (std::uint64_t i = 0; i < count; i += few_pages) {
    side.cool(list, true);
    d.shared().meet();
    const auto start = base::now();
    side.read(list);
    t.whole += since(start);
    d.shared()->released.value.store(i + 1, std::memory_order_release);
    barrier();
  }
  d.shared()->released.value.store(0);
  return t;
}

void idle_home(duo& d, std::size_t, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; i += few_pages) {
    d.pages().cool(d.pages().scattered(few_pages), false);
    d.shared().meet();
    barrier();
  }
}

// Does not call into weft until the leader has read all.
void busy_home(duo& d, std::size_t, std::uint64_t count) {
  auto& released = d.shared()->released.value;
  for (std::uint64_t i = 0; i < count; i += few_pages) {
    d.pages().cool(d.pages().scattered(few_pages), false);
    d.shared().meet();
    volatile double work = 1;
    while (released.load(std::memory_order_acquire) != i + 1)  // pairs with the store in few_read
      for (int n = 0; n < 100; ++n) work = work * 1.0000001;
    barrier();
  }
}

constexpr operation list[] = {
    {"read_misses", read_misses<scattered>, cooled<scattered>},
    {"read_misses_in_order", read_misses<in_order>, cooled<in_order>},
    {"writes_released", written_and_released<scattered>, cooled_and_locked<scattered>, memory_pages},
    {"writes_released_in_order", written_and_released<in_order>, cooled_and_locked<in_order>, memory_pages},
    {"writes_to_barrier", written_to_barrier, cooled_and_met, memory_pages},
    {"idle_home", few_read, idle_home, few_pages},
    {"busy_home", few_read, busy_home, few_pages},
};

}  // namespace

std::span<const operation> page_operations() {
  return list;
}

}  // namespace weft::bench
