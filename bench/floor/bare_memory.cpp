// What shared memory does by itself: the floor under the shm fabric. Two processes hand a cache line to and fro, and one copies
// into a memory file that the other maps too.
#include <cstring>

#include "base/clock.h"
#include "bench/sides/duo.h"
#include "bench/sides/memory_side.h"
#include "os/spin.h"

namespace weft::bench {
namespace {

double since(base::nanoseconds start) {
  return static_cast<double>(base::now() - start);
}

void await(std::atomic<std::uint64_t>& line, std::uint64_t value) {
  while (line.load(std::memory_order_acquire) != value) os::pause();  // pairs with the release of the other side
}

// The same line in both directions: whoever reads it gets it with the right to write, so it travels once each way.
timing one_line(duo& d, std::size_t, std::uint64_t count) {
  auto& line = d.shared()->ball[0].value;
  line.store(0);
  const auto start = base::now();
  for (std::uint64_t i = 1; i <= 2 * count; i += 2) {
    line.store(i, std::memory_order_release);
    await(line, i + 1);
  }
  return {.whole = since(start)};
}

void one_line_back(duo& d, std::size_t, std::uint64_t count) {
  auto& line = d.shared()->ball[0].value;
  for (std::uint64_t i = 1; i <= 2 * count; i += 2) {
    await(line, i);
    line.store(i + 1, std::memory_order_release);
  }
}

// A line for each direction, as between two memories: the writer first has to get it back from the reader.
timing two_lines(duo& d, std::size_t, std::uint64_t count) {
  auto &there = d.shared()->ball[0].value, &here = d.shared()->ball[1].value;
  const auto start = base::now();
  for (std::uint64_t i = 1; i <= count; ++i) {
    there.store(i, std::memory_order_release);
    await(here, i);
  }
  const timing t{.whole = since(start)};
  there.store(0);
  here.store(0);
  return t;
}

void two_lines_back(duo& d, std::size_t, std::uint64_t count) {
  auto &here = d.shared()->ball[0].value, &there = d.shared()->ball[1].value;
  for (std::uint64_t i = 1; i <= count; ++i) {
    await(here, i);
    there.store(i, std::memory_order_release);
  }
}

timing copies(duo& d, std::size_t size, std::uint64_t count) {
  auto* to = d.shared()->field.data();
  const auto* from = d.block(size).data();
  const auto start = base::now();
  for (std::uint64_t i = 0; i < count; ++i) {
    std::memcpy(to, from, size);
    asm volatile("" ::: "memory");  // every copy is made
  }
  return {.whole = since(start)};
}

// Pages that the other side has just written to, one word each, as a miss finds them.
timing page_copies(duo& d, std::size_t, std::uint64_t count) {
  auto& side = d.pages();
  timing t;
  in_rounds(count, [&](std::size_t pages) {
    d.shared().meet();
    const auto start = base::now();
    for (const auto p : side.scattered(pages)) {
      std::memcpy(side.copies() + p * page_size, d.shared()->field.data() + p * page_size, page_size);
      asm volatile("" ::: "memory");
    }
    t.whole += since(start);
    d.shared().meet();
  });
  return t;
}

void write_pages(duo& d, std::size_t, std::uint64_t count) {
  in_rounds(count, [&](std::size_t pages) {
    for (const auto p : d.pages().scattered(pages)) ++reinterpret_cast<word&>(d.shared()->field[p * page_size]);
    d.shared().meet();
    d.shared().meet();
  });
}

void nothing(duo&, std::size_t, std::uint64_t) {}

constexpr operation list[] = {
    {"one_line", one_line, one_line_back},
    {"two_lines", two_lines, two_lines_back},
    {"memcpy", copies, nothing},
    {"page_copies", page_copies, write_pages},
};

}  // namespace

std::span<const operation> bare_memory_operations() {
  return list;
}

}  // namespace weft::bench
