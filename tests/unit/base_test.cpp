#include <limits>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <weft/status.h>

#include "base/bytes.h"
#include "base/counters.h"
#include "base/growing_array.h"
#include "base/random.h"
#include "base/text.h"

namespace weft::base {
namespace {

TEST(reader, takes_back_what_a_writer_put) {
  writer out;
  out.put(std::uint8_t{7}).put(std::uint64_t{1} << 40).put_text("weft").put_block(bytes_of(std::uint32_t{5}));
  const auto bytes = out.take();
  reader in(bytes);
  EXPECT_EQ(in.take<std::uint8_t>(), 7);
  EXPECT_EQ(in.take<std::uint64_t>(), std::uint64_t{1} << 40);
  EXPECT_EQ(in.take_text(), "weft");
  EXPECT_EQ(in.take_block().size(), 4u);
  EXPECT_TRUE(in.complete());
}

TEST(reader, never_reads_past_the_end_and_stays_failed) {
  writer out;
  out.put(std::uint32_t{1000}).put(std::uint16_t{3});  // a block that claims more than there is
  const auto bytes = out.take();
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    reader in(byte_view(bytes).first(cut));
    EXPECT_TRUE(in.take_block().empty());
    EXPECT_FALSE(in.ok());
    EXPECT_EQ(in.take<std::uint8_t>(), 0);
    EXPECT_FALSE(in.complete());
  }
}

TEST(text, sizes_durations_and_shares_are_read_as_people_write_them) {
  EXPECT_EQ(parse_size("4096"), 4096u);
  EXPECT_EQ(parse_size("64KiB"), 65536u);
  EXPECT_EQ(parse_size("1.5M"), 1572864u);
  EXPECT_EQ(parse_duration("250ns"), 250);
  EXPECT_EQ(parse_duration("10us"), 10'000);
  EXPECT_EQ(parse_duration("5"), 5'000'000'000);
  EXPECT_DOUBLE_EQ(*parse_share("5%"), 0.05);
  EXPECT_DOUBLE_EQ(*parse_share("0.25"), 0.25);
  for (const char* nonsense : {"", "x", "-1", "1x", "1 MiB", "nan", "inf", "0x10", "1e999"}) {
    EXPECT_FALSE(parse_size(nonsense)) << nonsense;
    EXPECT_FALSE(parse_duration(nonsense)) << nonsense;
    EXPECT_FALSE(parse_share(nonsense)) << nonsense;
  }
  EXPECT_FALSE(parse_share("101%"));
  EXPECT_EQ(parse_number("0042"), 42u);
  EXPECT_FALSE(parse_number("99999999999999999999"));
}

TEST(text, split_keeps_empty_parts) {
  EXPECT_EQ(split("a,,b", ','), (std::vector<std::string>{"a", "", "b"}));
  EXPECT_EQ(split("", ','), (std::vector<std::string>{""}));
}

TEST(growing_array, elements_are_made_one_by_one_stay_where_they_are_and_end_with_it) {
  static int alive;
  alive = 0;
  struct element {
    element() { ++alive; }
    ~element() { --alive; }
    int value = 7;
  };
  {
    growing_array<element, 3> all;
    EXPECT_EQ(all.size(), 0u);
    EXPECT_EQ(alive, 0);
    EXPECT_EQ(all.grow(), 0u);
    element& first = all[0];
    first.value = 8;
    EXPECT_FALSE(all.full());
    EXPECT_EQ(all.grow(), 1u);
    EXPECT_EQ(all.grow(), 2u);
    EXPECT_TRUE(all.full());
    EXPECT_EQ(&all[0], &first);
    EXPECT_EQ(all[0].value, 8);
    EXPECT_EQ(all[2].value, 7);
    EXPECT_EQ(alive, 3);
  }
  EXPECT_EQ(alive, 0);
}

TEST(random, the_same_seed_gives_the_same_sequence_within_its_bounds) {
  random a(1), b(1), c(2);
  bool differs = false;
  for (int i = 0; i < 1000; ++i) {
    const auto x = a.below(10);
    EXPECT_EQ(x, b.below(10));
    EXPECT_LT(x, 10u);
    differs |= x != c.below(10);
    const auto y = a.between(5, 6);
    b.between(5, 6);
    EXPECT_TRUE(y == 5 || y == 6);
  }
  EXPECT_TRUE(differs);
}

TEST(thread_slot, living_threads_have_different_numbers_and_numbers_are_reused) {
  std::set<std::size_t> ever;
  for (int round = 0; round < 200; ++round) {
    std::size_t first = 0, second = 0;
    std::thread t([&] {
      first = thread_slot();
      std::thread([&] { second = thread_slot(); }).join();
    });
    t.join();
    EXPECT_NE(first, second);
    ever.insert({first, second});
  }
  EXPECT_LE(ever.size(), 4u);
}

TEST(counters, count_exactly_with_more_threads_than_slots) {
  counters<2> c;
  constexpr int threads = static_cast<int>(thread_slots) + 16, times = 2000;
  std::vector<std::thread> pool;
  for (int t = 0; t < threads; ++t)
    pool.emplace_back([&] {
      for (int i = 0; i < times; ++i) c.add(0), c.add(1, 3);
    });
  for (auto& t : pool) t.join();
  EXPECT_EQ(c.sum(0), std::uint64_t{threads} * times);
  EXPECT_EQ(c.sum(1), std::uint64_t{threads} * times * 3);
}

TEST(status, carries_a_code_and_a_sentence_and_throws_them) {
  status fine;
  EXPECT_TRUE(fine.ok());
  fine.or_throw();
  status bad(errc::no_right, "no");
  EXPECT_FALSE(bad.ok());
  try {
    bad.clone().or_throw();
    FAIL();
  } catch (const error& e) {
    EXPECT_EQ(e.code(), errc::no_right);
    EXPECT_STREQ(e.what(), "no");
  }
  result<int> r = 5;
  EXPECT_EQ(std::move(r).or_throw(), 5);
}

}  // namespace
}  // namespace weft::base
