// What lrc remembers: intervals, what copies lack, diffs and when they are forgotten. Two or three histories talk to one another here
// without a network.
#include <gtest/gtest.h>

#include "protocols/lrc/history.h"

namespace weft::protocols {
namespace {

constexpr dsm::page_id pages = 64, page = 17;  // managed by node 1

std::vector<std::byte> byte_at(std::uint16_t offset, int value) {
  const auto b = static_cast<std::byte>(value);
  const run r{page * dsm::page_bytes + offset, {&b, 1}};
  return encode(page, {&r, 1});
}

class lrc_history : public testing::Test {
 protected:
  history a{0, 3, pages, dsm::page_set::create(pages).or_throw()};
  history b{1, 3, pages, dsm::page_set::create(pages).or_throw()};
  history c{2, 3, pages, dsm::page_set::create(pages).or_throw()};

  static void write_in_an_interval(history& h) { EXPECT_EQ(h.end_interval({page}), 1u); }

  static std::vector<dsm::page_id> acquire(history& to, const history& from) {
    dsm::notices n;
    from.notices_beyond(to.seen(), n);
    std::vector<dsm::page_id> changed;
    vector_time upto;
    EXPECT_TRUE(to.learn(n, changed, upto));
    to.saw(upto);
    return changed;
  }

  static std::vector<diff> ask(const history& writer, const history::need::part& part,
                               history::answer expected = history::answer::all) {
    std::vector<std::byte> answer;
    EXPECT_EQ(writer.diffs(page, part.after, part.upto, 0, answer), expected);
    std::vector<diff> all;
    EXPECT_TRUE(read(answer, all));
    return all;
  }
};

TEST_F(lrc_history, a_diff_that_covers_more_than_was_asked_for_is_not_asked_for_again) {
  write_in_an_interval(a);
  EXPECT_EQ(acquire(c, a), std::vector<dsm::page_id>{page});
  write_in_an_interval(a);
  a.taken(page, a.own(), byte_at(0, 1));
  const auto needed = c.needs(page);
  ASSERT_EQ(needed.parts.size(), 1u);
  std::vector<diff> own;
  ASSERT_TRUE(c.received(page, needed, {ask(a, needed.parts[0])}, own));
  acquire(c, a);
  EXPECT_TRUE(c.needs(page).parts.empty());
}

TEST_F(lrc_history, diffs_that_come_in_any_order_are_put_in_in_causal_order) {
  write_in_an_interval(a);
  a.taken(page, a.own(), byte_at(5, 1));
  acquire(b, a);
  write_in_an_interval(b);
  b.taken(page, b.own(), byte_at(5, 2));
  acquire(c, b);
  const auto needed = c.needs(page);
  ASSERT_EQ(needed.parts.size(), 2u);
  std::vector<diff> all = ask(b, {1, 0, 1});
  for (auto& d : ask(a, {0, 0, 1})) all.push_back(d);
  std::vector<std::byte> copy(dsm::page_bytes);
  apply_in_order(all, copy);
  EXPECT_EQ(copy[5], std::byte{2});
}

TEST_F(lrc_history, pages_of_intervals_that_a_node_has_seen_or_ended_itself_are_no_news) {
  EXPECT_EQ(a.end_interval({1, 2, 3}), 3u);
  dsm::notices all;
  a.notices_beyond(vector_time(3), all);
  EXPECT_EQ(b.unseen(all), 3u);
  EXPECT_EQ(a.unseen(all), 0u);
  acquire(b, a);
  EXPECT_EQ(a.end_interval({4}), 1u);
  all.clear();
  a.notices_beyond(vector_time(3), all);
  EXPECT_EQ(b.unseen(all), 1u);
  EXPECT_EQ(c.unseen(all), 4u);
}

TEST_F(lrc_history, what_was_closed_with_changes_is_told_with_the_next_interval) {
  a.closed(page, true, byte_at(0, 1));
  EXPECT_EQ(a.end_interval({}), 1u);
  EXPECT_EQ(ask(a, {0, 0, 1}).size(), 1u);
  a.closed(page, false, {});
  EXPECT_EQ(a.end_interval({}), 0u);
}

TEST_F(lrc_history, an_interval_that_ends_while_a_diff_is_made_gets_one_of_its_own) {
  write_in_an_interval(a);
  const auto ended = a.own();
  write_in_an_interval(a);
  a.taken(page, ended, byte_at(0, 1));
  EXPECT_FALSE(a.untaken(page, 1));
  EXPECT_TRUE(a.untaken(page, 2));
}

TEST_F(lrc_history, a_copy_that_lacks_what_was_collected_is_given_up) {
  write_in_an_interval(a);
  a.taken(page, a.own(), byte_at(0, 1));
  acquire(c, a);
  const vector_time cut{1, 0, 0};
  for (history* h : {&a, &c}) h->forget(cut);
  EXPECT_TRUE(c.needs(page).missing);
  EXPECT_FALSE(a.needs(page).missing);
  ask(a, {0, 0, 1}, history::answer::collected);
}

TEST_F(lrc_history, what_was_asked_for_before_a_collection_is_not_taken) {
  write_in_an_interval(a);
  a.taken(page, a.own(), byte_at(0, 1));
  acquire(c, a);
  const auto diffs_needed = c.needs(page);
  c.forget({1, 0, 0});
  std::vector<diff> own;
  EXPECT_FALSE(c.received(page, diffs_needed, {ask(a, diffs_needed.parts[0])}, own));
  const auto page_needed = c.needs(page);
  c.forget({1, 0, 0});
  EXPECT_FALSE(c.fetched(page, page_needed, {0, 0, 0}));
  EXPECT_TRUE(c.needs(page).missing);
}

TEST_F(lrc_history, a_page_that_was_fetched_gets_its_own_later_changes_again) {
  write_in_an_interval(a);
  a.taken(page, a.own(), byte_at(0, 1));
  acquire(c, a);
  c.closed(page, true, byte_at(9, 3));
  c.forget({1, 0, 0});
  auto needed = c.needs(page);
  ASSERT_TRUE(c.fetched(page, needed, {1, 0, 0}));
  needed = c.needs(page);
  EXPECT_TRUE(needed.reapply);
  std::vector<diff> own;
  ASSERT_TRUE(c.received(page, needed, {}, own));
  ASSERT_EQ(own.size(), 1u);
  EXPECT_EQ(own[0].runs, byte_at(9, 3));
}

TEST_F(lrc_history, memory_is_what_it_was_after_everything_is_forgotten) {
  const std::size_t before = a.memory();
  for (int i = 0; i < 100; ++i) {
    write_in_an_interval(a);
    a.taken(page, a.own(), byte_at(0, i));
    acquire(b, a);
    write_in_an_interval(b);
    b.taken(page, b.own(), byte_at(0, i));
    acquire(a, b);
  }
  EXPECT_GT(a.memory(), before + 100 * sizeof(diff));
  a.forget({100, 100, 0});
  EXPECT_EQ(a.memory(), before);
}

TEST_F(lrc_history, notices_that_make_no_sense_are_refused) {
  std::vector<dsm::page_id> changed;
  vector_time upto;
  EXPECT_FALSE(a.learn(std::vector<std::byte>(7), changed, upto));
  const std::uint32_t wrong_node[] = {9, 1, 1, 0}, wrong_page[] = {1, 1, 1, 1, pages};
  EXPECT_FALSE(a.learn(std::as_bytes(std::span(wrong_node)), changed, upto));
  EXPECT_FALSE(a.learn(std::as_bytes(std::span(wrong_page)), changed, upto));
}

}  // namespace
}  // namespace weft::protocols
