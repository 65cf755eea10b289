// The parts of shared memory that need no second node: changes, sets of pages.
#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <vector>

#include "base/random.h"
#include "dsm/changes.h"
#include "dsm/page_set.h"

namespace weft::dsm {
namespace {

using page = std::vector<std::byte>;

page random_page(base::random& random) {
  page p(page_bytes);
  for (auto& b : p) b = static_cast<std::byte>(random.next());
  return p;
}

void apply(const changes& c, std::uint64_t base, page& to) {
  for (const auto& r : c.runs()) std::memcpy(to.data() + (r.offset - base), r.data.data(), r.data.size());
}

TEST(changes, of_a_page_that_is_the_same_are_none) {
  base::random random(1);
  const page now = random_page(random);
  page twin = now;
  changes c;
  EXPECT_FALSE(c.add(0, now.data(), twin.data()));
  EXPECT_TRUE(c.empty());
}

TEST(changes, applied_to_the_twin_give_the_page_and_hold_no_byte_that_is_the_same) {
  base::random random(2);
  for (int round = 0; round < 2000; ++round) {
    const page before = random_page(random);
    page now = before;
    for (auto writes = random.next() % 40; writes-- > 0;) {
      const auto at = random.next() % page_bytes, length = std::min<std::uint64_t>(1 + random.next() % 20, page_bytes - at);
      for (auto i = at; i < at + length; ++i) now[i] = static_cast<std::byte>(random.next());
    }
    page twin = before;
    changes c;
    EXPECT_EQ(c.add(8, now.data(), twin.data()), now != before);
    EXPECT_EQ(twin, now) << "the twin is brought up to date";
    page copy = before;
    apply(c, 8 * page_bytes, copy);
    ASSERT_EQ(copy, now);
    for (const auto& r : c.runs())
      for (std::size_t i = 0; i < r.data.size(); ++i) ASSERT_NE(before[r.offset - 8 * page_bytes + i], r.data[i]);
  }
}

TEST(changes, of_two_writers_of_neighbouring_bytes_do_not_touch_each_other) {
  const page before(page_bytes);
  page first = before, second = before, home = before;
  for (std::size_t i = 0; i < page_bytes; ++i) (i % 2 ? first : second)[i] = std::byte{7};
  for (page* p : {&first, &second}) {
    page twin = before;
    changes c;
    c.add(0, p->data(), twin.data());
    apply(c, 0, home);
  }
  for (auto b : home) ASSERT_EQ(b, std::byte{7});
}

TEST(patch, holds_what_was_changed_and_touches_nothing_else) {
  base::random random(4);
  for (int round = 0; round < 2000; ++round) {
    const page before = random_page(random);
    page sender = before, receiver = before, merged = before;
    std::size_t written = 0;
    for (auto writes = random.next() % 600; writes-- > 0;) {
      const auto at = random.next() % page_bytes;
      const auto value = static_cast<std::byte>(random.next());
      (at % 3 == 0 ? receiver : sender)[at] = merged[at] = value;
    }
    for (std::size_t i = 0; i < page_bytes; ++i) written += sender[i] != before[i];
    page twin = before, receivers_twin = before;
    changes c(changes::form::patches);
    EXPECT_EQ(c.add(8, sender.data(), twin.data()), sender != before);
    EXPECT_EQ(twin, sender) << "the twin is brought up to date";
    EXPECT_EQ(c.bytes_changed(), written);
    changes as_runs;
    page again = before;
    as_runs.add(8, sender.data(), again.data());
    EXPECT_EQ(c.ranges_changed(), as_runs.ranges_changed());
    c.for_ranges(0, [&](std::uint64_t offset, std::size_t size) {
      for (auto i = offset - 8 * page_bytes; size-- > 0; ++i, --written) ASSERT_NE(before[i], sender[i]);
    });
    EXPECT_EQ(written, 0u);
    for (const patch& sent : c.patches()) {
      base::reader in(sent.encoded());
      patch received;
      ASSERT_TRUE(patch::read(in, 9, received));
      EXPECT_TRUE(in.complete());
      received.apply(receiver.data(), receivers_twin.data());
    }
    ASSERT_EQ(receiver, merged);
    ASSERT_EQ(receivers_twin, sender);
  }
}

TEST(patch, that_makes_no_sense_is_refused) {
  base::random random(5);
  const page before(page_bytes), now = random_page(random);
  page twin = before;
  changes c(changes::form::patches);
  c.add(8, now.data(), twin.data());
  const auto whole = c.patches()[0].encoded();
  const auto accepted = [](bytes b, page_id pages) {
    base::reader in(b);
    patch p;
    return patch::read(in, pages, p);
  };
  EXPECT_TRUE(accepted(whole, 9));
  EXPECT_FALSE(accepted(whole, 8)) << "no such page";
  for (std::size_t size = 0; size < whole.size(); ++size) EXPECT_FALSE(accepted(whole.first(size), 9)) << size;
  base::byte_buffer empty(whole.begin(), whole.end());
  base::store(empty.data() + sizeof(page_id), std::uint64_t{0});
  EXPECT_FALSE(accepted(empty, 9)) << "no lines";
  empty.assign(whole.begin(), whole.end());
  base::store(empty.data() + patch::header_bytes, std::uint64_t{0});
  EXPECT_FALSE(accepted(empty, 9)) << "a line without changes";
}

TEST(changes, of_many_pages_stay_valid_together) {
  base::random random(3);
  changes c;
  std::vector<page> pages;
  for (page_id p = 0; p < 300; ++p) {
    pages.push_back(random_page(random));
    page twin(page_bytes);
    c.add(p, pages.back().data(), twin.data());
  }
  std::vector<std::byte> all(300 * page_bytes);
  for (const auto& r : c.runs()) std::memcpy(all.data() + r.offset, r.data.data(), r.data.size());
  for (std::size_t p = 0; p < 300; ++p) ASSERT_EQ(std::memcmp(all.data() + p * page_bytes, pages[p].data(), page_bytes), 0);
}

TEST(a_page_set, does_what_a_set_does) {
  base::random random(4);
  constexpr page_id pages = 3'000'000;
  auto set = page_set::create(pages).or_throw();
  std::set<page_id> model;
  for (int i = 0; i < 20000; ++i) {
    auto p = static_cast<page_id>(random.next() % pages);
    if (random.next() % 2) p %= 500;  // some of them close together
    if (random.next() % 3) {
      set.insert(p);
      model.insert(p);
    } else {
      set.erase(p);
      model.erase(p);
    }
    ASSERT_EQ(set.size(), model.size());
    const auto from = static_cast<page_id>(random.next() % pages);
    const auto next = model.lower_bound(from);
    ASSERT_EQ(set.next(from), next == model.end() ? pages : *next);
    auto absent = p;
    while (model.contains(absent)) ++absent;
    ASSERT_EQ(set.next_absent(p), absent);
  }
}

TEST(a_page_set, finds_its_last_page) {
  for (const page_id pages : {1u, 63u, 64u, 65u, 4096u, 4097u, 262144u, 262145u}) {
    auto set = page_set::create(pages).or_throw();
    EXPECT_EQ(set.next(0), pages);
    set.insert(pages - 1);
    EXPECT_EQ(set.next(0), pages - 1);
    EXPECT_EQ(set.next_absent(pages - 1), pages);
  }
}

}  // namespace
}  // namespace weft::dsm
