// Automatic update: stores arrive by themselves, in the ways that each fabric has, in the order that weft/vmmc.h states.
#include "contract/vmmc/fixture.h"

namespace weft::test {
namespace {

class vmmc_automatic_update : public vmmc_contract {
 protected:
  std::vector<update_way> ways() const {
    std::vector<update_way> all = {update_way::tracked, update_way::automatic};
    if (GetParam().fabric == "shm") all.push_back(update_way::mapped);
    return all;
  }
};

void store(mutable_bytes memory, std::size_t index, word value) {
  std::atomic_ref(reinterpret_cast<word*>(memory.data())[index]).store(value, std::memory_order_relaxed);
}

TEST_P(vmmc_automatic_update, stores_arrive_by_themselves_within_the_stated_delay) {
  for (const update_way way : ways())
    run_on_nodes(GetParam(), [&](fabric& port, meeting& where) {
      node_under_test n(port, where);
      const auto memory = n.allocate(64 << 10);
      const auto mine = n.give("page", memory);
      const auto theirs = n.take(n.next(), "page");
      auto bound = n.vmmc.bind(theirs, 8, (64 << 10) - 8, {.way = way, .delay = 2ms});
      OK(bound);
      leave_together at_the_end{where};
      EXPECT_EQ(bound->way(), way != update_way::automatic ? way : port.can().mapped ? update_way::mapped : update_way::tracked);
      ASSERT_EQ(bound->memory().size(), static_cast<std::size_t>((64 << 10) - 8));
      for (word i = 1; i <= 5; ++i) {
        store(bound->memory(), 1000, i);
        OK(port.wait([&] { return word_at(memory, 8 + 8000) == i; }, 5s));
        where.barrier();
      }
      EXPECT_EQ(word_at(memory, 0), 0u);
    });
}

TEST_P(vmmc_automatic_update, only_what_was_stored_travels) {
  for (const bool combining : {true, false})
    for (const update_way way : ways())
      run_on_nodes(GetParam(), [&](fabric& port, meeting& where) {
        node_under_test n(port, where);
        constexpr std::size_t words = 64 << 10;  // 512 KiB
        const auto memory = n.allocate(words * 8);
        auto* here = reinterpret_cast<word*>(memory.base);
        for (std::size_t i = 0; i < words; ++i) here[i] = i;  // what the exporter has there stays unless a store arrives
        const auto mine = n.give("words", memory);
        const auto theirs = n.take(n.next(), "words");
        auto bound = n.vmmc.bind(theirs, 0, words * 8, {.way = way, .combining = combining, .delay = 1s});
        OK(bound);
        leave_together at_the_end{where};
        base::random r(3);
        std::vector<word> expected(words);
        for (std::size_t i = 0; i < words; ++i) expected[i] = i;
        for (int turn = 0; turn < 3; ++turn) {
          for (int i = 0; i < 300; ++i) {
            const std::size_t first = r.below(words - 8), count = 1 + r.below(8);
            for (std::size_t j = first; j < first + count; ++j) store(bound->memory(), j, expected[j] = r.next() | 1);
          }
          OK(theirs.fence());
        }
        where.barrier();
        EXPECT_TRUE(std::equal(expected.begin(), expected.end(), here));
        const auto s = bound->statistics();
        if (bound->way() == update_way::tracked) {
          EXPECT_EQ(s.passes, 3u);
          EXPECT_LT(s.bytes, words * 8 / 2);
          EXPECT_TRUE(combining ? s.runs < s.bytes / 8 : s.runs == s.bytes / 8);
        }
      });
}

TEST_P(vmmc_automatic_update, is_ordered_with_deliberate_updates_as_stated) {
  const int turns = rounds(200);
  for (const update_way way : ways())
    run_on_nodes(GetParam(), [&](fabric& port, meeting& where) {
      node_under_test n(port, where);
      const auto memory = n.allocate(8192);
      const auto mine = n.give("pair", memory);
      const auto theirs = n.take(n.next(), "pair");
      auto bound = n.vmmc.bind(theirs, 4096, 4096, {.way = way, .delay = 1ms});
      OK(bound);
      leave_together at_the_end{where};
      std::atomic<bool> over{false};
      std::atomic<int> wrong{0};
      std::thread watcher([&] {
        while (!over) {
          // Written last is read first: a deliberate update at 0, then a store at 4096, then a flush and an update at 8.
          const word third = word_at(memory, 8), second = word_at(memory, 4096), first = word_at(memory, 0);
          if (second > first || third > second) ++wrong;
        }
      });
      for (word i = 1; i <= static_cast<word>(turns); ++i) {
        OK(theirs.update_value(0, i));
        store(bound->memory(), 0, i);
        if (bound->way() != update_way::mapped) OK(bound->flush());
        OK(theirs.update_value(8, i));
      }
      OK(theirs.fence());
      where.barrier();
      over = true;
      watcher.join();
      EXPECT_EQ(wrong, 0);
      EXPECT_EQ(word_at(memory, 8), static_cast<word>(turns));
    });
}

TEST_P(vmmc_automatic_update, no_store_of_many_threads_is_missed_by_passes_in_between) {
  const word turns = static_cast<word>(rounds(3000));
  run_on_nodes(GetParam(), [&](fabric& port, meeting& where) {
    node_under_test n(port, where);
    constexpr std::size_t pages = 64, threads = 3;
    const auto memory = n.allocate(pages * 4096);
    const auto mine = n.give("pages", memory);
    const auto theirs = n.take(n.next(), "pages");
    auto bound = n.vmmc.bind(theirs, 0, pages * 4096, {.way = update_way::tracked, .delay = 100us});
    OK(bound);
    leave_together at_the_end{where};
    std::vector<std::thread> pool;
    for (std::size_t t = 0; t < threads; ++t)
      pool.emplace_back([&, t] {
        base::random r(t + 1);
        for (word i = 1; i <= turns; ++i) {
          store(bound->memory(), r.below(pages) * 512 + t, i);
          if (i % 64 == 0) std::this_thread::sleep_for(50us);
        }
      });
    for (auto& t : pool) t.join();
    OK(theirs.fence());
    where.barrier();
    std::vector<std::byte> there(pages * 4096);
    OK(theirs.fetch(0, there));
    EXPECT_TRUE(same(there, bound->memory().first(there.size())));
  });
}

TEST_P(vmmc_automatic_update, binds_memory_of_the_programs_own) {
  run_on_nodes(GetParam(), [&](fabric& port, meeting& where) {
    node_under_test n(port, where);
    const auto memory = n.allocate(8192);
    const auto mine = n.give("own", memory);
    const auto theirs = n.take(n.next(), "own");
    auto* own = static_cast<std::byte*>(std::aligned_alloc(4096, 8192));
    std::memset(own, 7, 8192);
    {
      auto bound = n.vmmc.bind(theirs, 0, 8192, {.local = {own, 8192}});
      OK(bound);
      EXPECT_EQ(bound->way(), update_way::tracked);
      EXPECT_EQ(n.vmmc.bind(theirs, 0, 4096, {.way = update_way::tracked, .local = {own + 8, 4096}}).code(),
                errc::invalid_argument);
      own[100] = std::byte{1};
      OK(bound->unbind());
      OK(theirs.fence());
      where.barrier();
    }
    EXPECT_EQ(memory.base[100], std::byte{1});
    EXPECT_EQ(memory.base[0], std::byte{0});  // what was there before the binding does not travel
    own[0] = std::byte{9};                    // nor what comes after it
    where.barrier();
    EXPECT_EQ(memory.base[0], std::byte{0});
    where.barrier();
    std::free(own);
  });
}

// The thread that sends stores is about to look at the binding when it goes.
TEST_P(vmmc_automatic_update, nothing_travels_after_unbind) {
  run_on_nodes(GetParam(), [&](fabric& port, meeting& where) {
    node_under_test n(port, where);
    const auto memory = n.allocate(4096);
    const auto mine = n.give("own", memory);
    const auto theirs = n.take(n.next(), "own");
    auto* own = static_cast<std::byte*>(std::aligned_alloc(4096, 4096));
    std::memset(own, 0, 4096);
    for (int i = 1; i <= 400; ++i) {
      auto bound = n.vmmc.bind(theirs, 0, 4096, {.way = update_way::tracked, .delay = 50us, .local = {own, 4096}});
      OK(bound);
      for (const auto until = base::now() + 50 * base::microsecond + i; base::now() < until;) continue;
      OK(bound->unbind());
      own[0] = static_cast<std::byte>(i % 255 + 1);
    }
    OK(theirs.fence());
    where.barrier();
    EXPECT_EQ(memory.base[0], std::byte{0});
    where.barrier();
    std::free(own);
  });
}

TEST_P(vmmc_automatic_update, what_cannot_be_is_said) {
  run_on_nodes(GetParam(), [&](fabric& port, meeting& where) {
    node_under_test n(port, where);
    auto mine = n.give("page", n.allocate(4096));
    const auto theirs = n.take(n.next(), "page");
    auto doubled = n.vmmc.bind(theirs, 0, 4096, {.way = update_way::doubled});
    EXPECT_EQ(doubled.code(), errc::unavailable) << "this program was not built for it";
    if (!port.can().mapped && n.next() != port.self()) {
      EXPECT_EQ(n.vmmc.bind(theirs, 0, 4096, {.way = update_way::mapped}).code(), errc::unavailable);
    }
    auto bound = n.vmmc.bind(theirs, 0, 4096, {.way = update_way::tracked, .delay = 1ms});
    OK(bound);
    where.barrier();
    OK(mine.revoke());
    where.barrier();
    store(bound->memory(), 0, 1);
    status told = bound->flush();
    if (told.ok()) told = theirs.fence();
    EXPECT_EQ(told.code(), errc::revoked);
    where.barrier();
  });
}

ON_EVERY_FABRIC(vmmc_automatic_update);

}  // namespace
}  // namespace weft::test
