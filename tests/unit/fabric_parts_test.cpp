// The parts that fabrics are made of, each by itself and with threads: the queue of words, the shm ring, the window table, the reply
// table and the driver.
#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>

#include "base/random.h"
#include "fabric/driver.h"
#include "fabric/fabric.h"
#include "fabric/reply_table.h"
#include "fabric/shm/ring.h"
#include "fabric/window_table.h"
#include "fabric/word_queue.h"
#include "os/memory_file.h"

namespace weft::fabric {
namespace {

struct queue_memory {
  explicit queue_memory(std::size_t bound) : bytes(word_queue::footprint(bound) + 64) {
    auto at = reinterpret_cast<std::uintptr_t>(bytes.data());
    queue = word_queue::create(bytes.data() + (64 - at % 64) % 64, bound);
  }
  std::vector<std::byte> bytes;
  word_queue* queue;
};

TEST(spin_policy, waits_give_the_core_away_at_once_where_cores_are_shared) {
  fabric_options o;
  EXPECT_FALSE(choose_spin_policy(o).crowded);  // a node alone
  o.share_cores = true;
  EXPECT_TRUE(choose_spin_policy(o).crowded);
  o.share_cores = false;
  o.nodes_on_host = 1'000'000;
  EXPECT_TRUE(choose_spin_policy(o).crowded);
}

TEST(word_queue, many_producers_and_consumers_lose_nothing_and_keep_each_producers_order) {
  queue_memory m(4096);  // small, so that buffers are linked, returned and reused all the time
  constexpr word producers = 4, consumers = 2, times = 20000;
  std::vector<std::thread> pool;
  for (word p = 0; p < producers; ++p)
    pool.emplace_back([&, p] {
      std::vector<word> batch;
      for (word i = 0; i < times; ++i) {
        batch.push_back(p << 32 | i);
        if (batch.size() > i % 7) m.queue->enqueue(batch), batch.clear();
      }
      m.queue->enqueue(batch);
    });
  std::atomic<word> taken{0}, sum{0}, disorder{0};
  for (word c = 0; c < consumers; ++c)
    pool.emplace_back([&] {
      std::vector<word> last(producers, 0);
      word values[32];
      while (taken < producers * times) {
        const auto n = m.queue->dequeue(values);
        if (n == 0) std::this_thread::yield();
        for (std::size_t i = 0; i < n; ++i) {
          auto& previous = last[values[i] >> 32];
          const word now = (values[i] & 0xffffffff) + 1;
          disorder += now <= previous;
          previous = now;
          sum += now;
        }
        taken += n;
      }
    });
  for (auto& t : pool) t.join();
  EXPECT_EQ(disorder, 0u);
  EXPECT_EQ(sum, producers * times * (times + 1) / 2);
  EXPECT_TRUE(m.queue->empty());
}

// A batch takes its tickets first and is read then, here from memory that has to be brought: who appends meanwhile has its word behind a gap.
TEST(word_queue, finds_a_word_that_was_appended_while_another_producer_is_held_up) {
  constexpr word mine = ~word{0};
  queue_memory m(4096);
  std::atomic<int> batches{200'000};
  std::thread other([&] {
    const auto source = os::reserve(4096);
    const std::span slow(reinterpret_cast<const word*>(source->base()), 2);
    for (; batches > 0; --batches) {
      ::madvise(source->base(), source->size(), MADV_DONTNEED);
      if (m.queue->has_room(10)) m.queue->enqueue(slow);
    }
  });
  std::vector<word> some(100);
  const auto drain = [&] {
    std::ptrdiff_t found = 0;
    for (std::size_t n = some.size(); n == some.size();) {
      n = m.queue->dequeue(some);
      found += std::count(some.begin(), some.begin() + static_cast<std::ptrdiff_t>(n), mine);
    }
    return found;
  };
  int missed = 0;
  while (batches > 0) {
    m.queue->enqueue(mine);
    missed += drain() != 1;
  }
  other.join();
  drain();
  EXPECT_EQ(missed, 0);
  EXPECT_TRUE(m.queue->empty());
}

TEST(word_queue, reports_its_bound_once) {
  queue_memory m(1024);
  std::atomic<bool> over{false};
  std::thread producer([&] {
    for (word i = 0; i < 3000; ++i) m.queue->enqueue({&i, 1});
    over = true;
  });
  while (!m.queue->take_bound_report()) std::this_thread::yield();
  EXPECT_FALSE(m.queue->has_room(1));
  word expected = 0, value;
  while (expected < 3000) {
    if (m.queue->dequeue({&value, 1}) == 0) continue;
    EXPECT_EQ(value, expected);
    ++expected;
  }
  producer.join();
  EXPECT_TRUE(over);
}

TEST(shm_ring, carries_messages_of_all_sizes_in_order_round_and_round) {
  auto memory = std::make_unique<shm::ring>();
  shm::ring_producer out;
  shm::ring_consumer in;
  out.attach(memory.get());
  in.attach(memory.get());
  constexpr int messages = 20000;
  std::thread producer([&] {
    base::random r(3);
    std::vector<std::byte> payload(most_payload);
    for (int i = 0; i < messages; ++i) {
      const std::vector<word> words(1 + r.below(most_words), static_cast<word>(i));
      const std::size_t n = i % 50 == 0 ? r.below(most_payload + 1) : r.below(300);
      for (std::size_t b = 0; b < n; b += 64) payload[b] = static_cast<std::byte>(i);
      while (!out.try_write(static_cast<handler_id>(i % 4000), words, bytes(payload).first(n))) std::this_thread::yield();
    }
  });
  int expected = 0, wrong = 0;
  while (expected < messages) {
    const bool got = in.read(
        [&](handler_id id, std::span<const word> words, bytes payload) {
          wrong += id != expected % 4000;
          for (word w : words) wrong += w != static_cast<word>(expected);
          for (std::size_t b = 0; b < payload.size(); b += 64) wrong += payload[b] != static_cast<std::byte>(expected);
          ++expected;
        },
        [] {});
    if (!got) std::this_thread::yield();
  }
  producer.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_TRUE(in.empty());
}

TEST(window_table, closing_waits_for_accesses_and_a_capability_dies_with_its_window) {
  window_table table;
  std::vector<std::byte> bytes(4096);
  const memory m{bytes.data(), bytes.size(), -1, 0};
  auto w = table.open(m, rights::read | rights::write);
  ASSERT_TRUE(w.ok());
  std::atomic<bool> closed{false};
  std::thread closer;
  {
    auto held = table.enter(w->id, w->capability, 0, 8, rights::write, 0);
    ASSERT_TRUE(held);
    closer = std::thread([&] {
      EXPECT_TRUE(table.close(*w).ok());
      closed = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_FALSE(closed) << "closed under an access";
  }
  closer.join();
  EXPECT_EQ(table.enter(w->id, w->capability, 0, 8, rights::write, 0).failure().code(), errc::revoked);
  auto again = table.open(m, rights::all);
  ASSERT_TRUE(again.ok());
  EXPECT_NE(again->capability, w->capability);
  EXPECT_EQ(table.enter(again->id, w->capability, 0, 8, rights::read, 0).failure().code(), errc::revoked);
  EXPECT_EQ(table.enter(~0u, again->capability, 0, 8, rights::read, 0).failure().code(), errc::revoked);
}

TEST(window_table, has_a_bound_and_says_so) {
  window_table table;
  std::byte b;
  std::size_t opened = 0;
  while (table.open({&b, 1, -1, 0}, rights::all).ok()) ++opened;
  EXPECT_EQ(opened, port::most_windows - 1);
}

TEST(reply_table, a_late_reply_or_one_from_another_node_finds_nobody) {
  reply_table table;
  const auto token = table.open(3);
  ASSERT_TRUE(token);
  EXPECT_FALSE(table.find(*token, 4));
  EXPECT_TRUE(table.find(*token, 3));
  table.close(*token);
  EXPECT_FALSE(table.find(*token, 3));
  const auto next = table.open(3);
  EXPECT_NE(*next, *token);
  EXPECT_FALSE(table.find(*token, 3));
  EXPECT_FALSE(table.find(~word{0}, 3));
  table.close(*next);
  std::vector<word> all;
  while (auto t = table.open(1)) all.push_back(*t);
  EXPECT_EQ(all.size(), reply_table::most);
}

// Something to drive: a counter that work is added to from outside, with the bell of the shm fabric in small.
class bell_ringer : public driven {
 public:
  void add_work() {
    work_.fetch_add(1);
    if (asleep_.exchange(0) != 0) {
      bell_.fetch_add(1);
      os::futex_wake(bell_, INT32_MAX);
    }
  }
  int done() const { return done_.load(); }
  int served() const { return served_.load(); }  // of these, by the communication thread
  const driver* by = nullptr;

  bool drive_once() override {
    EXPECT_FALSE(inside_.exchange(true)) << "two drivers";
    const bool any = work_.load() > done_.load();
    if (any && by && by->serving()) served_.fetch_add(1);
    if (any) done_.fetch_add(1);
    inside_ = false;
    return any;
  }
  bool pending() override { return asleep_.load() != 1 || work_.load() > done_.load(); }
  bool unfinished() override { return false; }
  void arm(sleeper who) override { asleep_.store(static_cast<std::uint32_t>(who)); }
  void disarm() override { asleep_.store(0); }
  void block(sleeper who, base::nanoseconds limit) override {
    const auto seen = bell_.load();
    if (asleep_.load() == static_cast<std::uint32_t>(who) || who == sleeper::communication)
      os::futex_wait(bell_, seen, std::min(limit, limit_));
  }
  void kick() override {
    bell_.fetch_add(1);
    os::futex_wake(bell_, INT32_MAX);
  }

 private:
  static constexpr base::nanoseconds limit_ = 100 * base::millisecond;
  std::atomic<int> work_{0}, done_{0}, served_{0};
  std::atomic<bool> inside_{false};
  std::atomic<std::uint32_t> asleep_{1};
  os::futex_word bell_{0};
};

TEST(spinner, gives_the_core_away_where_another_thread_computes_on_it) {
  std::atomic<bool> over{false};
  std::thread both([&] {  // so that the test's own thread keeps its cores
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(::sched_getcpu(), &one);
    ::sched_setaffinity(0, sizeof one, &one);
    std::thread computes([&] {
      while (!over.load())
        ;
    });  // on the same core, as a thread's children are
    os::spin_policy policy;
    policy.spin = 10 * base::second;
    os::spinner spin(policy);
    const auto until = base::now() + policy.spin;
    while (!spin.spent() && base::now() < until) spin.pause();
    EXPECT_TRUE(spin.crowded());
    over.store(true);
    computes.join();
  });
  both.join();
}

TEST(driver, every_wait_ends_whoever_drives) {
  for (bool crowded : {false, true}) {
    bell_ringer what;
    os::spin_policy policy;
    policy.crowded = crowded;
    policy.spin = 5 * base::microsecond;
    driver d(what, policy);
    d.start();
    constexpr int waiters = 4, rounds = 300;
    std::vector<std::thread> pool;
    std::atomic<int> failures{0};
    for (int w = 0; w < waiters; ++w)
      pool.emplace_back([&] {
        for (int i = 1; i <= rounds; ++i) {
          bool slept = false;
          if (!d.wait([&] { return what.done() >= i * waiters; }, 20 * base::second, slept)) ++failures;
        }
      });
    for (int i = 0; i < rounds * waiters; ++i) {
      what.add_work();
      if (i % 64 == 0) std::this_thread::sleep_for(std::chrono::microseconds(300));
    }
    for (auto& t : pool) t.join();
    EXPECT_EQ(failures, 0);
    bool slept = false;
    EXPECT_FALSE(d.wait([] { return false; }, 20 * base::millisecond, slept));
    EXPECT_TRUE(slept);
    d.stop();
  }
}

TEST(driver, who_waits_works_without_the_communication_thread) {
  bell_ringer what;
  driver d(what, {});
  what.by = &d;
  what.add_work();
  bool slept = false;
  EXPECT_TRUE(d.wait([&] { return what.done() == 1; }, 10 * base::second, slept));
  EXPECT_EQ(what.served(), 0);
}

TEST(driver, the_communication_thread_works_while_nobody_waits) {
  bell_ringer what;
  driver d(what, {});
  what.by = &d;
  d.start();
  what.add_work();
  const auto until = base::now() + 10 * base::second;
  while (what.done() == 0 && base::now() < until) std::this_thread::yield();
  EXPECT_EQ(what.done(), 1);
  EXPECT_EQ(what.served(), 1);
}

}  // namespace
}  // namespace weft::fabric
