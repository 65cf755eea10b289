// Remote queues by name.
#include <atomic>

#include "contract/vmmc/fixture.h"
#include "os/memory_file.h"

namespace weft::test {
namespace {

class vmmc_queue : public vmmc_contract {};

TEST_P(vmmc_queue, words_come_once_in_each_senders_order_after_its_updates) {
  const word turns = static_cast<word>(rounds(40000));
  run_on_nodes(GetParam(), [&](fabric& port, meeting& where) {
    node_under_test n(port, where);
    const auto memory = n.allocate(64 * port.nodes());
    const auto mine = n.give("progress", memory);
    auto inbox = make_queue(n.vmmc, "inbox");
    OK(inbox);
    auto outbox = find_queue(n.vmmc, 0, "inbox");
    OK(outbox);
    const auto progress = n.take(0, "progress");
    leave_together at_the_end{where};
    std::vector<word> batch;
    for (word i = 1; i <= turns; ++i) {
      if (i % 16 == 0) OK(progress.update_value(64 * port.self(), i));
      const word value = word{port.self()} << 32 | i;
      if (i % 64 < 32) {
        OK(outbox->enqueue(value));
        continue;
      }
      batch.push_back(value);
      if (i % 64 != 63 && i != turns) continue;
      OK(outbox->enqueue(batch));
      batch.clear();
    }
    if (!batch.empty()) OK(outbox->enqueue(batch));
    if (port.self() != 0) return;
    std::vector<word> next(port.nodes(), 1);
    word wrong = 0;
    for (word taken = 0; taken < turns * port.nodes(); ++taken) {
      auto value = inbox->wait_and_dequeue(20s);
      OK(value);
      const word source = *value >> 32, i = *value & 0xffffffff;
      wrong += next[source]++ != i;
      wrong += word_at(memory, 64 * source) < i / 16 * 16 && i % 64 < 32;  // batched words are sent later than they are made
    }
    EXPECT_EQ(wrong, 0u);
    word spare;
    EXPECT_EQ(*inbox->dequeue({&spare, 1}), 0u) << "a word came twice";
  });
}

TEST_P(vmmc_queue, several_threads_may_take_words_and_each_word_goes_to_one) {
  const word turns = static_cast<word>(rounds(8000));
  run_on_nodes(GetParam(), [&](fabric& port, meeting& where) {
    node_under_test n(port, where);
    auto inbox = make_queue(n.vmmc, "inbox");
    OK(inbox);
    auto outbox = find_queue(n.vmmc, n.next(), "inbox");
    OK(outbox);
    leave_together at_the_end{where};
    std::atomic<word> taken{0}, sum{0};
    std::vector<std::thread> takers;
    for (int t = 0; t < 3; ++t)
      takers.emplace_back([&] {
        word values[16];
        while (taken < turns) {
          auto count = inbox->dequeue(values);
          if (!count.ok() || *count == 0) {
            port.poll();
            std::this_thread::yield();
            continue;
          }
          for (std::size_t i = 0; i < *count; ++i) sum += values[i];
          taken += *count;
        }
      });
    for (word i = 1; i <= turns; ++i) OK(outbox->enqueue(i));
    for (auto& t : takers) t.join();
    EXPECT_EQ(taken, turns);
    EXPECT_EQ(sum, turns * (turns + 1) / 2);
  });
}

// The consumer falls asleep and wakes up between words, which is when its condition is asked more than once.
TEST_P(vmmc_queue, a_word_that_was_waited_for_is_taken_once) {
  run_on_nodes(GetParam(), [&](fabric& port, meeting& where) {
    node_under_test n(port, where);
    constexpr word turns = 300;
    auto inbox = make_queue(n.vmmc, "awaited");
    ASSERT_TRUE(inbox.ok()) << inbox.sentence();
    leave_together at_the_end{where};
    auto outbox = find_queue(n.vmmc, n.next(), "awaited");
    ASSERT_TRUE(outbox.ok()) << outbox.sentence();
    std::thread sender([&] {
      for (word i = 1; i <= turns; ++i) {
        OK(outbox->enqueue(i));
        if (i % 3 == 0) std::this_thread::sleep_for(100us);
      }
    });
    for (word i = 1; i <= turns; ++i) {
      auto got = inbox->wait_and_dequeue(5s);
      EXPECT_TRUE(got.ok()) << got.sentence();
      if (!got.ok()) break;
      EXPECT_EQ(*got, i);
    }
    sender.join();
  });
}

TEST_P(vmmc_queue, at_the_bound_the_consumer_is_told_and_nothing_is_lost) {
  if (nodes() == 1) return;  // filling one's own queue past its bound without taking from it is waiting for oneself
  constexpr word bound = 1024;
  const auto file = os::create_memory_file("progress", sizeof(word)).or_throw();
  const auto common = os::map_file(file.get(), 0, sizeof(word), true).or_throw();  // by all nodes: they are this process's children
  auto& sent = *::new (common.base()) std::atomic<word>(0);
  run_on_nodes(GetParam(), [&](fabric& port, meeting& where) {
    node_under_test n(port, where);
    auto inbox = make_queue(n.vmmc, "small", bound);
    OK(inbox);
    auto outbox = find_queue(n.vmmc, 0, "small");
    OK(outbox);
    leave_together at_the_end{where};
    constexpr word words = 4000;
    if (port.self() == 1)
      for (word i = 0; i < words; ++i, ++sent) OK(outbox->enqueue(i));
    if (port.self() != 0) return;
    // Until there is no room: the sender has come far, and comes no further.
    word before = 0;
    for (int i = 0; i < 50 && (sent < bound / 2 || sent != before); ++i) {
      before = sent;
      std::this_thread::sleep_for(200ms);
    }
    int told = 0;
    for (word expected = 0; expected < words;) {
      auto value = inbox->wait_and_dequeue(20s);
      if (!value.ok()) {
        ASSERT_EQ(value.code(), errc::too_large) << value.sentence();
        ++told;
        continue;
      }
      ASSERT_EQ(*value, expected++);
    }
    EXPECT_GE(told, 1);
  });
}

TEST_P(vmmc_queue, a_queue_that_is_gone_or_forbidden_is_refused) {
  run_on_nodes(GetParam(), [&](fabric& port, meeting& where) {
    node_under_test n(port, where);
    auto fresh = make_queue(n.vmmc, "gone");
    OK(fresh);
    auto forbidden = make_queue(n.vmmc, "forbidden", 1024, {n.next()});
    OK(forbidden);
    auto there = find_queue(n.vmmc, n.next(), "gone");
    OK(there);
    EXPECT_EQ(make_queue(n.vmmc, "gone").code(), errc::invalid_argument);
    for (node_id other = 0; other < port.nodes(); ++other)
      EXPECT_EQ(find_queue(n.vmmc, other, "forbidden").ok(), (other + 1) % port.nodes() == port.self());
    EXPECT_EQ(find_queue(n.vmmc, n.next(), "never made", 50ms).code(), errc::timed_out);
    where.barrier();
    { local_queue ends = std::move(*fresh); }
    where.barrier();
    auto refused = there->enqueue(1);
    if (refused.ok()) refused = port.fence(n.next());
    EXPECT_EQ(refused.code(), errc::revoked);
    where.barrier();
  });
}

ON_EVERY_FABRIC(vmmc_queue);

}  // namespace
}  // namespace weft::test
