// The bad network: how it is asked for, and that it does what was asked.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "reliable/impair.h"

namespace weft::reliable {
namespace {

using base::microsecond;
using base::nanoseconds;

TEST(impairment, everything_can_be_asked_for) {
  const auto parsed = impairment::parse("loss=5%,dup=1%,reorder=2%,delay=100us,jitter=50us,corrupt=0.01,seed=7");
  ASSERT_TRUE(parsed);
  EXPECT_DOUBLE_EQ(parsed->loss, 0.05);
  EXPECT_DOUBLE_EQ(parsed->duplicate, 0.01);
  EXPECT_DOUBLE_EQ(parsed->reorder, 0.02);
  EXPECT_DOUBLE_EQ(parsed->corrupt, 0.01);
  EXPECT_EQ(parsed->delay, 100 * microsecond);
  EXPECT_EQ(parsed->jitter, 50 * microsecond);
  EXPECT_EQ(parsed->seed, 7u);
  EXPECT_FALSE(parsed->none());
}

TEST(impairment, nothing_is_none) {
  const auto parsed = impairment::parse("");
  ASSERT_TRUE(parsed);
  EXPECT_TRUE(parsed->none());
}

TEST(impairment, its_text_means_the_same) {
  const auto parsed = impairment::parse("loss=12.5%,delay=3us,seed=9");
  ASSERT_TRUE(parsed);
  const auto again = impairment::parse(parsed->text());
  ASSERT_TRUE(again);
  EXPECT_EQ(again->text(), parsed->text());
  EXPECT_DOUBLE_EQ(again->loss, 0.125);
}

TEST(impairment, an_error_names_the_part_that_is_wrong) {
  constexpr std::pair<const char*, const char*> wrong[] = {
      {"loss=5%,dupe=1%", "dupe=1%"}, {"loss=101%", "loss=101%"}, {"loss", "'loss'"},
      {"delay=fast", "delay=fast"},   {"seed=-1", "seed=-1"},     {"loss=5%,,dup=1%", "''"}};
  for (const auto& [text, part] : wrong) {
    const auto parsed = impairment::parse(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.code(), errc::invalid_argument);
    EXPECT_NE(parsed.sentence().find(part), std::string::npos) << parsed.sentence();
  }
}

std::vector<std::byte> numbered(unsigned number, std::size_t size = 64) {
  std::vector<std::byte> d(size);
  d[0] = static_cast<std::byte>(number);
  d[1] = static_cast<std::byte>(number >> 8);
  return d;
}

struct arrival {
  nanoseconds at;
  std::vector<std::byte> datagram;
  bool operator==(const arrival&) const = default;
};

std::vector<arrival> carry(const impairment& how, unsigned count) {
  impaired_path path(how);
  std::vector<arrival> arrivals;
  nanoseconds now = 0;
  for (unsigned i = 0; i < count; ++i, now += microsecond) {
    path.push(now, numbered(i));
    while (auto d = path.pop_due(now)) arrivals.push_back({now, {d->begin(), d->end()}});
  }
  while (path.deadline() != impaired_path::never) {
    now = std::max(now, path.deadline());
    while (auto d = path.pop_due(now)) arrivals.push_back({now, {d->begin(), d->end()}});
  }
  return arrivals;
}

TEST(impaired_path, an_unimpaired_path_changes_nothing) {
  const auto arrivals = carry({}, 100);
  ASSERT_EQ(arrivals.size(), 100u);
  for (unsigned i = 0; i < 100; ++i) {
    EXPECT_EQ(arrivals[i].datagram, numbered(i));
    EXPECT_EQ(arrivals[i].at, i * microsecond);
  }
}

TEST(impaired_path, the_same_seed_gives_the_same_faults) {
  const auto how = *impairment::parse("loss=10%,dup=5%,reorder=5%,corrupt=5%,jitter=30us,seed=3");
  EXPECT_EQ(carry(how, 1000), carry(how, 1000));
  auto other = how;
  other.seed = 4;
  EXPECT_NE(carry(how, 1000), carry(other, 1000));
}

TEST(impaired_path, faults_occur_as_often_as_asked) {
  EXPECT_NEAR(static_cast<double>(carry(*impairment::parse("loss=20%"), 20000).size()), 16000, 400);
  EXPECT_NEAR(static_cast<double>(carry(*impairment::parse("dup=20%"), 20000).size()), 24000, 400);
  const auto damaged = carry(*impairment::parse("corrupt=20%"), 20000);
  unsigned differ = 0;
  for (unsigned i = 0; i < damaged.size(); ++i) differ += damaged[i].datagram != numbered(i);
  EXPECT_NEAR(differ, 4000, 400);
}

TEST(impaired_path, a_delay_holds_everything_back) {
  for (const auto& a : carry(*impairment::parse("delay=100us"), 50)) EXPECT_EQ(a.at % microsecond, 0);
  impaired_path path(*impairment::parse("delay=100us"));
  path.push(0, numbered(1));
  EXPECT_EQ(path.deadline(), 100 * microsecond);
  EXPECT_FALSE(path.pop_due(99 * microsecond));
  EXPECT_TRUE(path.pop_due(100 * microsecond));
}

TEST(impaired_path, reordering_lets_later_ones_overtake) {
  const auto arrivals = carry(*impairment::parse("reorder=10%"), 1000);
  ASSERT_EQ(arrivals.size(), 1000u);
  EXPECT_FALSE(std::is_sorted(arrivals.begin(), arrivals.end(), [](const arrival& a, const arrival& b) {
    return std::to_integer<unsigned>(a.datagram[0]) + 256 * std::to_integer<unsigned>(a.datagram[1]) <
           std::to_integer<unsigned>(b.datagram[0]) + 256 * std::to_integer<unsigned>(b.datagram[1]);
  }));
}

TEST(impaired_path, the_queue_is_bounded) {
  impaired_path path(*impairment::parse("delay=1s"));
  for (unsigned i = 0; i < impaired_path::most_queued + 100; ++i) path.push(0, numbered(i));
  EXPECT_EQ(path.queued(), impaired_path::most_queued);
  EXPECT_EQ(path.overflowed(), 100u);
}

}  // namespace
}  // namespace weft::reliable
