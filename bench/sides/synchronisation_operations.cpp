// Barriers and locks of shared memory, measured.
#include "base/clock.h"
#include "bench/sides/duo.h"
#include "bench/sides/hand_over.h"
#include "bench/sides/memory_side.h"

namespace weft::bench {
namespace {

double since(base::nanoseconds start) {
  return static_cast<double>(base::now() - start);
}

// Nothing is written between them. The leader has copies of all pages, or of none.
timing barriers(duo& d, bool with_copies, std::uint64_t count) {
  auto& side = d.pages();
  const auto all = side.in_order(memory_pages);
  side.cool(all, true);
  if (with_copies) side.read(all);
  barrier();  // what the reads brought about at the home is over
  barrier();
  const auto start = base::now();
  for (std::uint64_t i = 0; i < count; ++i) barrier();
  return {.whole = since(start)};
}

timing empty_barriers(duo& d, std::size_t, std::uint64_t count) {
  return barriers(d, false, count);
}
timing barriers_with_copies(duo& d, std::size_t, std::uint64_t count) {
  return barriers(d, true, count);
}

void barriers_too(duo& d, std::size_t, std::uint64_t count) {
  d.pages().cool(d.pages().in_order(memory_pages), false);
  for (std::uint64_t i = 0; i < count + 2; ++i) barrier();
}

timing alone(duo& d, std::size_t, std::uint64_t count) {
  d.pages().let_go(true);
  auto& lock = d.pages().lock();
  const auto start = base::now();
  for (std::uint64_t i = 0; i < count; ++i) {
    lock.lock();
    lock.unlock();
  }
  return {.whole = since(start)};
}

void let_go(duo& d, std::size_t, std::uint64_t) {
  d.pages().let_go(false);
}

timing contended(duo& d, std::size_t, std::uint64_t count) {
  const auto times = std::min(count, most_hand_overs);
  d.pages().let_go(true);
  return {.whole = hand_over(d.shared(), d.pages().lock(), times) * static_cast<double>(count)};
}

void contend(duo& d, std::size_t, std::uint64_t count) {
  d.pages().let_go(false);
  hand_over(d.shared(), d.pages().lock(), std::min(count, most_hand_overs));
}

constexpr operation list[] = {
    {"barriers", empty_barriers, barriers_too},
    {"barriers_with_copies", barriers_with_copies, barriers_too},
    {"lock_alone", alone, let_go},
    {"lock_contended", contended, contend, 64},
};

}  // namespace

std::span<const operation> synchronisation_operations() {
  return list;
}

}  // namespace weft::bench
