// Export, import and deliberate update: what weft/vmmc.h promises, on every fabric.

#include "contract/vmmc/fixture.h"

namespace weft::test {
namespace {

class vmmc_update : public vmmc_contract {};

TEST_P(vmmc_update, any_size_at_any_alignment_arrives_and_nothing_else_is_touched) {
  const int turns = rounds(64);
  run_on_nodes(GetParam(), [&](fabric& port, meeting& where) {
    node_under_test n(port, where);
    constexpr std::size_t part = 1 << 19;
    const auto mine = n.give("buffer", n.allocate(part * port.nodes()));
    std::vector<imported> theirs;
    for (node_id i = 0; i < port.nodes(); ++i) theirs.push_back(n.take(i, "buffer"));
    leave_together at_the_end{where};
    const std::size_t sizes[] = {0, 1, 7, 8, 9, 63, 64, 1473, 4095, 4096, 4097, 65536, 65537, 200000};
    std::vector<std::vector<std::byte>> expected(port.nodes(), std::vector<std::byte>(part));
    base::random r(port.self() + 1);
    for (int i = 0; i < turns; ++i) {
      const auto to = static_cast<node_id>(r.below(port.nodes()));
      const std::size_t size = sizes[r.below(std::size(sizes))], at = r.below(part - size + 1);
      const auto data = pattern(r.next(), size);
      const std::uint64_t there = port.self() * part + at;
      if (i % 3 == 0) {
        const std::size_t cut = r.below(size + 1);
        const bytes pieces[] = {bytes(data).first(cut), bytes(data).subspan(cut)};
        OK(theirs[to].update_gathered(there, pieces));
      } else if (i % 3 == 1) {
        const run runs[] = {{there + size / 2, bytes(data).subspan(size / 2)}, {there, bytes(data).first(size / 2)}};
        OK(theirs[to].update_scattered(runs));
      } else {
        OK(theirs[to].update(there, data));
      }
      std::copy(data.begin(), data.end(), expected[to].begin() + static_cast<std::ptrdiff_t>(at));
    }
    for (const auto& t : theirs) OK(t.fence());
    for (node_id i = 0; i < port.nodes(); ++i) {
      std::vector<std::byte> got(part);
      auto early = theirs[i].start_fetch(port.self() * part, std::span(got).first(part / 2));
      OK(early);
      OK(theirs[i].fetch(port.self() * part + part / 2, std::span(got).subspan(part / 2)));
      while (!theirs[i].done(*early)) std::this_thread::yield();
      OK(theirs[i].finish(*early));
      EXPECT_TRUE(same(got, expected[i])) << "node " << port.self() << " finds something else at node " << i;
    }
  });
}

TEST_P(vmmc_update, an_import_waits_for_its_export_and_gives_up_at_its_deadline) {
  run_on_nodes(GetParam(), [&](fabric& port, meeting& where) {
    node_under_test n(port, where);
    std::thread late([&] {
      std::this_thread::sleep_for(60ms);
      where.word(port.self()) = 1;
    });
    exported mine;
    std::thread exporter([&] {
      while (where.word(port.self()) == 0) std::this_thread::sleep_for(1ms);
      mine = n.give("late", n.allocate(4096));
    });
    const auto start = std::chrono::steady_clock::now();
    auto got = n.vmmc.import_memory(n.next(), "late");
    EXPECT_TRUE(got.ok()) << got.sentence();
    EXPECT_GE(std::chrono::steady_clock::now() - start, 1ms);
    late.join();
    exporter.join();
    leave_together at_the_end{where};
    auto never = n.vmmc.import_memory(n.next(), "no such thing", {.limit = 80ms});
    ASSERT_FALSE(never.ok());
    EXPECT_EQ(never.code(), errc::timed_out) << never.sentence();
    EXPECT_NE(never.sentence().find("no such thing"), std::string::npos);
  });
}

TEST_P(vmmc_update, updates_can_be_queued_and_finished_together) {
  run_on_nodes(GetParam(), [&](fabric& port, meeting& where) {
    node_under_test n(port, where);
    constexpr std::size_t block = 20000, blocks = 24;
    const auto mine = n.give("blocks", n.allocate(block * blocks));
    const auto theirs = n.take(n.next(), "blocks");
    leave_together at_the_end{where};
    const auto data = pattern(port.self() + 5, block * blocks);
    for (const std::size_t depth : {1u, 2u, 8u}) {
      update_queue queue(depth);
      for (std::size_t i = 0; i < blocks; ++i) {
        OK(queue.start(theirs, i * block, bytes(data).subspan(i * block, block)));
        EXPECT_LE(queue.waiting(), depth);
      }
      EXPECT_EQ(queue.start(theirs, block * blocks - 1, bytes(data).first(2)).code(), errc::out_of_bounds);
      OK(queue.finish());
      EXPECT_EQ(queue.waiting(), 0u);
    }
    OK(theirs.fence());
    std::vector<std::byte> got(data.size());
    OK(theirs.fetch(0, got));
    EXPECT_TRUE(same(got, data));
  });
}

TEST_P(vmmc_update, atomics_return_what_was_there_and_lose_nothing) {
  const int turns = rounds(100);
  run_on_nodes(GetParam(), [&](fabric& port, meeting& where) {
    node_under_test n(port, where);
    const auto memory = n.allocate(4096);
    const auto mine = n.give("words", memory);
    const auto there = n.take(0, "words");
    leave_together at_the_end{where};
    const word bit = word{1} << port.self();
    for (int i = 0; i < turns; ++i) {
      OK(there.fetch_add(0, 2));
      auto before = there.fetch_or(8, bit);
      OK(before);
      EXPECT_EQ(*before & bit, 0u);
      before = there.fetch_and(8, ~bit);
      OK(before);
      EXPECT_EQ(*before & bit, bit);
      for (word seen = 0;;) {
        auto old = there.compare_swap(16, seen, seen + 1);
        OK(old);
        if (*old == seen) break;
        seen = *old;
      }
    }
    OK(there.swap(24 + 8 * port.self(), 77));
    where.barrier();
    if (port.self() != 0) return;
    EXPECT_EQ(word_at(memory, 0), 2u * static_cast<word>(turns) * port.nodes());
    EXPECT_EQ(word_at(memory, 8), 0u);
    EXPECT_EQ(word_at(memory, 16), static_cast<word>(turns) * port.nodes());
    for (node_id i = 0; i < port.nodes(); ++i) EXPECT_EQ(word_at(memory, 24 + 8 * i), 77u);
  });
}

TEST_P(vmmc_update, access_counters_call_back_at_zero_and_stay_there) {
  run_on_nodes(GetParam(), [&](fabric& port, meeting& where) {
    node_under_test n(port, where);
    const auto mine = n.give("pages", n.allocate(4 * 4096));
    const auto theirs = n.take(n.next(), "pages");
    leave_together at_the_end{where};
    EXPECT_EQ(theirs.arm_access_counter(0, 1).code(), errc::invalid_argument);
    std::vector<std::uint64_t> told;
    theirs.on_access_zero([&](std::uint64_t page) { told.push_back(page); });
    OK(theirs.arm_access_counter(0, 3));
    OK(theirs.arm_access_counter(1, 1));
    OK(theirs.arm_access_counter(2, 2));
    EXPECT_EQ(theirs.arm_access_counter(4, 1).code(), errc::out_of_bounds);
    const imported same = theirs;  // a copy is the same import
    const std::vector<std::byte> three_pages(4098);
    OK(same.update_value(0, word{1}));
    OK(theirs.fetch_add(8, 1));
    EXPECT_EQ(theirs.accesses_left(0), 1u);
    OK(same.update(4095, three_pages));  // pages 0, 1 and 2
    EXPECT_EQ(told, (std::vector<std::uint64_t>{0, 1}));
    OK(same.update_value(0, word{1}));
    std::byte b[8];
    OK(theirs.fetch(8192, b));
    EXPECT_EQ(told, (std::vector<std::uint64_t>{0, 1, 2}));
    OK(theirs.arm_access_counter(0, 1));
    OK(same.update_value(0, word{1}));
    EXPECT_EQ(told.size(), 4u);
  });
}

TEST_P(vmmc_update, a_revoked_export_takes_whole_updates_or_none_and_its_name_is_free) {
  run_on_nodes(GetParam(), [&](fabric& port, meeting& where) {
    node_under_test n(port, where);
    constexpr std::size_t size = 4096;
    const auto memory = n.allocate(size);
    auto mine = n.give("target", memory);
    const auto theirs = n.take(n.next(), "target");
    where.barrier();
    std::thread revoker([&] {
      std::this_thread::sleep_for(20ms);
      auto revoked = mine.revoke();
      EXPECT_TRUE(revoked.ok()) << revoked.sentence();
    });
    std::vector<std::byte> data(size);
    status s;
    const auto until = std::chrono::steady_clock::now() + 15s;
    for (int i = 1; s.ok() && std::chrono::steady_clock::now() < until; ++i) {
      std::fill(data.begin(), data.end(), static_cast<std::byte>(i));
      s = theirs.update(0, data);
      if (s.ok() && i % 8 == 0) s = theirs.fence();
    }
    revoker.join();
    ASSERT_FALSE(s.ok());
    EXPECT_EQ(s.code(), errc::revoked) << s.sentence();
    EXPECT_EQ(mine.revoke().code(), errc::revoked);
    const auto after = std::vector<std::byte>(memory.base, memory.base + size);
    EXPECT_TRUE(std::all_of(after.begin(), after.end(), [&](std::byte b) { return b == after[0]; })) << "half an update";
    where.barrier();
    EXPECT_TRUE(std::equal(after.begin(), after.end(), memory.base)) << "written after the revocation";
    const auto again = n.give("target", memory);
    const auto fresh = n.take(n.next(), "target");
    leave_together at_the_end{where};
    theirs.fence().ignore();  // what is left of the failures
    OK(fresh.update_value(0, word{port.self()}));
    OK(fresh.fence());
    status stale = theirs.update_value(8, word{1});
    if (stale.ok()) stale = theirs.fence();
    EXPECT_EQ(stale.code(), errc::revoked);
  });
}

TEST_P(vmmc_update, peers_of_a_node_that_dies_in_the_middle_of_transfers_hear_its_name_and_go_on) {
  if (nodes() == 1) return;
  run_on_nodes(GetParam(),
               [&](fabric& port, meeting& where) {
                 node_under_test n(port, where);
                 const node_id victim = port.nodes() - 1;
                 const auto mine = n.give("block", n.allocate(1 << 20));
                 std::vector<imported> all;
                 for (node_id i = 0; i < port.nodes(); ++i) all.push_back(n.take(i, "block"));
                 const std::vector<std::byte> block(1 << 20);
                 where.barrier();
                 if (port.self() == victim) {
                   for (int i = 0; i < 3; ++i) all[0].update(0, block).ignore();
                   where.leave();
                   die(GetParam(), port);
                 }
                 const auto start = std::chrono::steady_clock::now();
                 status s;
                 while (s.ok() && std::chrono::steady_clock::now() - start < 15s) {
                   s = all[victim].update_and_notify(0, block);
                   if (!s.ok() && s.code() == errc::no_right) s = all[victim].update(0, block);  // nobody listens there
                   if (s.ok()) s = all[victim].fence();
                   if (s.ok()) port.wait([&] { return port.failed(victim); }, 50ms).ignore();
                 }
                 const auto took = std::chrono::steady_clock::now() - start;
                 ASSERT_FALSE(s.ok());
                 EXPECT_EQ(s.code(), errc::node_failed) << s.sentence();
                 EXPECT_NE(s.sentence().find("node " + std::to_string(victim)), std::string::npos) << s.sentence();
                 EXPECT_LT(took, 5s);
                 auto import = n.vmmc.import_memory(victim, "another");
                 EXPECT_EQ(import.code(), errc::node_failed) << import.sentence();
                 for (node_id i = 0; i < victim; ++i) OK(all[i].update_value(8, word{2}));
                 for (node_id i = 0; i < victim; ++i) OK(all[i].fence());
                 where.barrier();
               },
               {GetParam().nodes - 1});
}

ON_EVERY_FABRIC(vmmc_update);

}  // namespace
}  // namespace weft::test
