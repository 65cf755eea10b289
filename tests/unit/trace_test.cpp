// The events of a trace: none is lost before it must, and clocks that differ and drift are put right.
#include <gtest/gtest.h>

#include "observe/trace.h"

namespace weft::observe {
namespace {

TEST(trace, keeps_the_last_events_of_a_thread_and_says_how_many_are_gone) {
  trace t;
  t.name(3, 7);
  for (std::uint64_t i = 0; i < trace::most_events + 5; ++i) t.add(3, {.what = i});
  t.add(4, {.what = 1});
  const auto all = t.take();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].slot, 3u);
  EXPECT_EQ(all[0].number, 7);
  EXPECT_EQ(all[0].lost, 5u);
  ASSERT_EQ(all[0].events.size(), trace::most_events);
  EXPECT_EQ(all[0].events.front().what, 5u);
  EXPECT_EQ(all[0].events.back().what, trace::most_events + 4);
  EXPECT_EQ(all[1].number, -1) << "nobody has said that it is one of the program's";
}

}  // namespace
}  // namespace weft::observe
