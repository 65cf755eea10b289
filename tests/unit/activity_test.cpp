// activity: what the threads of a node do, on a clock and with threads that the test makes up, and with real ones.
#include <gtest/gtest.h>

#include <thread>

#include "observe/activity.h"

namespace weft::observe {
namespace {

// A machine with a clock that stands still until it is told, and as many threads as the test likes.
struct machine {
  base::nanoseconds time = 1000;
  base::thread_identity thread{0, 1};

  activity::source source(bool timed = true) {
    return {[](void* m) { return static_cast<machine*>(m)->time; }, [](void* m) { return static_cast<machine*>(m)->thread; }, this,
            timed};
  }
};

base::nanoseconds spent(const activity& a, phase p) {
  return a.summed().spent[static_cast<std::size_t>(p)];
}

TEST(activity, time_goes_to_the_phase_that_a_thread_is_in_and_to_none_other) {
  machine m;
  activity a(m.source(), 2);
  a.begin(0);
  m.time += 10;
  const auto before = a.waits_for({wait_kind::barrier});
  m.time += 3;
  {
    const during working(&a, phase::protocol);
    m.time += 4;
    const during handling(&a, phase::handler);
    m.time += 5;
  }
  m.time += 6;
  a.waits_for(before);
  m.time += 20;
  EXPECT_EQ(spent(a, phase::compute), 30);
  EXPECT_EQ(spent(a, phase::barrier), 9);
  EXPECT_EQ(spent(a, phase::protocol), 4);
  EXPECT_EQ(spent(a, phase::handler), 5);
  EXPECT_EQ(spent(a, phase::lock) + spent(a, phase::fetch), 0);
  EXPECT_EQ(a.summed().threads, 1u);
}

TEST(activity, a_wait_that_has_not_ended_is_counted_up_to_now) {
  machine m;
  activity a(m.source(), 1);
  a.begin(0);
  a.waits_for({wait_kind::mutex});
  m.time += 50;
  EXPECT_EQ(spent(a, phase::lock), 50);
  m.time += 50;
  EXPECT_EQ(spent(a, phase::lock), 100);
}

TEST(activity, handlers_on_a_thread_that_is_not_the_programs_are_counted_apart) {
  machine m;
  activity a(m.source(), 1);
  a.begin(0);
  m.thread = {1, 2};
  {
    const during handling(&a, phase::handler);
    m.time += 7;
  }
  EXPECT_EQ(spent(a, phase::handler), 0);
  EXPECT_EQ(a.summed().served, 7);
  EXPECT_EQ(a.summed().threads, 1u);
}

TEST(activity, a_thread_in_the_slot_of_one_that_has_ended_does_not_inherit_its_time) {
  machine m;
  activity a(m.source(), 1);
  m.thread = {3, 10};
  a.waits_for(a.waits_for({wait_kind::mutex}));
  m.time += 1000;  // nobody is there
  m.thread = {3, 11};
  const auto before = a.waits_for({wait_kind::mutex});
  m.time += 5;
  a.waits_for(before);
  EXPECT_EQ(spent(a, phase::compute), 0);
  EXPECT_EQ(spent(a, phase::lock), 5);
  EXPECT_EQ(a.summed().threads, 2u);
}

TEST(activity, a_thread_that_ends_leaves_its_time_and_is_gone) {
  machine m;
  activity a(m.source(), 1);
  a.begin(4);
  m.time += 5;
  a.end();
  m.time += 100;
  EXPECT_EQ(spent(a, phase::compute), 5);
  EXPECT_TRUE(a.threads().empty());
}

TEST(activity, a_thread_tells_what_it_waits_for_and_since_when) {
  machine m;
  activity a(m.source(false), 1);
  a.begin(2);
  ASSERT_EQ(a.threads().size(), 1u);
  EXPECT_EQ(a.threads()[0].wait.what, wait_kind::nothing);
  m.time = 5000;
  const auto computing = a.waits_for({wait_kind::condition, 7, &m, 0, nullptr});
  m.time = 6000;
  const auto condition = a.waits_for({wait_kind::mutex, 8, &a, 1, &m});
  const auto seen = a.threads()[0];
  EXPECT_EQ(seen.number, 2u);
  EXPECT_EQ(seen.wait.what, wait_kind::mutex);
  EXPECT_EQ(seen.wait.object, 8u);
  EXPECT_EQ(seen.wait.address, &a);
  EXPECT_EQ(seen.wait.detail, 1u);
  EXPECT_EQ(seen.wait.caller, &m);
  EXPECT_EQ(seen.wait.since, 6000);
  a.waits_for(condition);
  EXPECT_EQ(a.threads()[0].wait.what, wait_kind::condition);
  EXPECT_EQ(a.threads()[0].wait.since, 5000);
  a.waits_for(computing);
  EXPECT_EQ(a.threads()[0].wait.what, wait_kind::nothing);
}

TEST(activity, progress_is_beginning_and_ending_to_wait_and_nothing_else) {
  machine m;
  activity a(m.source(), 1);
  a.begin(0);
  const auto start = a.progress();
  const auto before = a.waits_for({wait_kind::mutex});
  const auto waiting = a.progress();
  EXPECT_NE(waiting, start);
  { const during handling(&a, phase::handler); }
  m.time += 100;
  EXPECT_EQ(a.progress(), waiting);
  a.waits_for(before);
  EXPECT_NE(a.progress(), waiting);
}

TEST(activity, without_timing_nothing_is_timed) {
  machine m;
  activity a(m.source(false), 1);
  a.begin(0);
  const auto before = a.waits_for({wait_kind::barrier});
  { const during working(&a, phase::protocol); }
  m.time += 100;
  a.waits_for(before);
  EXPECT_EQ(spent(a, phase::barrier) + spent(a, phase::protocol), 0);
}

TEST(activity, counts_and_traffic_of_all_threads_add_up) {
  activity a(activity::machine(true), 3);
  std::vector<std::thread> threads;
  for (int t = 0; t < 70; ++t)  // more than there are slots
    threads.emplace_back([&a] {
      for (int i = 0; i < 1000; ++i) a.count(event::lock_waits), a.fetched(2, 10);
    });
  for (auto& t : threads) t.join();
  EXPECT_EQ(a.sum(event::lock_waits), 70'000u);
  EXPECT_EQ(a.sum(event::lock_acquires), 0u);
  EXPECT_EQ(a.traffic()[2].fetched, 700'000u);
  EXPECT_EQ(a.traffic()[1].fetched + a.traffic()[2].changed, 0u);
}

// All fields of a record are the same number; a reader must never see two.
TEST(activity, a_record_is_read_whole_while_its_thread_changes_it) {
  activity a(activity::machine(false), 1);
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (std::uint64_t i = 1; !stop; ++i) {
      const auto* same = reinterpret_cast<const void*>(i);
      a.waits_for({wait_kind::mutex, i, same, i, same, static_cast<std::int64_t>(i)});
    }
  });
  for (std::uint64_t seen = 0; seen < 10'000;)
    for (const auto& t : a.threads()) {
      const auto& w = t.wait;
      const auto* same = reinterpret_cast<const void*>(w.object);
      ASSERT_TRUE(w.address == same && w.detail == w.object && w.caller == same && w.since == static_cast<std::int64_t>(w.object));
      ++seen;
    }
  stop = true;
  writer.join();
}

TEST(activity, an_epoch_has_the_time_from_one_meeting_to_the_next) {
  machine m;
  activity a(m.source(), 1);
  a.begin(0);
  for (const base::nanoseconds computed : {10, 30}) {
    m.time += computed;
    const auto before = a.waits_for({wait_kind::barrier});
    m.time += 5;
    a.waits_for(before);
    a.end_epoch();
  }
  const auto epochs = a.epochs();
  EXPECT_EQ(epochs.barriers, 1u);
  ASSERT_EQ(epochs.spent.size(), 2u);
  EXPECT_EQ(epochs.spent[0][static_cast<std::size_t>(phase::compute)], 10);
  EXPECT_EQ(epochs.spent[1][static_cast<std::size_t>(phase::compute)], 30);
  EXPECT_EQ(epochs.spent[1][static_cast<std::size_t>(phase::barrier)], 5);
}

TEST(activity, too_many_epochs_are_put_together_and_no_time_is_lost) {
  machine m;
  activity a(m.source(), 1);
  a.begin(0);
  for (std::size_t i = 0; i < 5 * activity::most_epochs; ++i) {
    m.time += 3;
    a.end_epoch();
  }
  const auto epochs = a.epochs();
  EXPECT_EQ(epochs.barriers, 8u);
  EXPECT_EQ(epochs.spent.size(), 5 * activity::most_epochs / 8);
  for (const auto& e : epochs.spent) EXPECT_EQ(e[static_cast<std::size_t>(phase::compute)], 24);
}

TEST(activity, the_lock_that_costs_most_is_known_among_many) {
  machine m;
  activity a(m.source(), 1);
  a.begin(0);
  for (std::uint64_t turn = 0; turn < 100; ++turn)
    for (const std::uint64_t object : {std::uint64_t{7}, 1000 + turn}) {
      const auto before = a.waits_for({wait_kind::mutex, object});
      m.time += object == 7 ? 50 : 1;
      a.waits_for(before);
    }
  const auto all = a.most_contended();
  ASSERT_FALSE(all.empty());
  EXPECT_EQ(all[0].what.object, 7u);
  EXPECT_EQ(all[0].waits, 100u);
  EXPECT_EQ(all[0].waited, 5000);
}

}  // namespace
}  // namespace weft::observe
