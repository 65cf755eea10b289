// What lrc keeps of intervals and diffs stays within its bound in a program that never comes to a barrier.
#include <cstring>

#include <gtest/gtest.h>

#include "dst/coherence/choosers.h"
#include "dst/coherence/cluster.h"

namespace dst {
namespace {

constexpr std::uint32_t hand_overs = 100'000;
constexpr std::size_t bound = std::size_t{1} << 20;

TEST(lrc_memory, a_hundred_thousand_hand_overs_of_a_mutex_without_a_barrier_stay_within_a_mebibyte) {
  cluster_options o;
  o.protocol = "lrc";
  o.protocol_memory = bound;
  o.records_writes = true;
  random_chooser by(3);
  cluster c(o, by);
  std::uint32_t handed_over = 0, last = ~0u, count = 0;  // what really happens, outside the shared memory
  c.run([&](cluster::node& n) {
    auto* counter = static_cast<std::byte*>(n.space().allocate_together(sizeof count, weft::dsm::page_bytes, {}));
    auto& mutex = c.object(0);
    while (handed_over < hand_overs) {
      n.space().lock(mutex, weft::space::for_ever);
      n.access(counter, sizeof count, true, [&](std::byte* here, std::size_t, std::size_t size) {
        std::uint32_t value;
        std::memcpy(&value, here, size);
        EXPECT_EQ(value, count);
        std::memcpy(here, &++count, size);
      });
      handed_over += last != n.id();
      last = n.id();
      n.space().unlock(mutex);
      c.time().progress();
    }
    const auto s = n.space().statistics();
    EXPECT_LE(s.most_memory, bound);
    EXPECT_GE(s.collections, 10u);
  });
  EXPECT_FALSE(c.time().failure()) << *c.time().failure();
}

}  // namespace
}  // namespace dst
