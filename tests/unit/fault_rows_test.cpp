#include "dsm/fault_rows.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

namespace weft::dsm {
namespace {

// A program whose pages are all to be had, and who asks how many come at each fault.
class reader {
 public:
  explicit reader(page_id most, bool apart = true) : most_(most), apart_(apart) {}

  std::vector<page_id> read(page_id first, page_id pages, page_id stride = 1) {
    std::vector<page_id> fetched;
    page_row here;
    for (page_id p = first; p != first + pages * stride; p += stride) {
      if (here.contains(p)) continue;
      here = rows_.expect(p, most_, apart_);
      rows_.fetched(here.count);
      fetched.push_back(here.count);
    }
    return fetched;
  }

 private:
  fault_rows rows_;
  const page_id most_;
  const bool apart_;
};

using counts = std::vector<page_id>;

TEST(fault_rows, a_row_is_met_with_longer_and_longer_fetches) {
  reader r(16);
  EXPECT_EQ(r.read(100, 50), (counts{1, 2, 4, 8, 16, 16, 16}));
}

TEST(fault_rows, the_third_of_equal_distances_begins_a_row) {
  reader r(16);
  EXPECT_EQ(r.read(100, 12, 5), (counts{1, 1, 2, 4, 8}));
}

TEST(fault_rows, where_only_neighbours_come_together_other_distances_are_no_row) {
  reader r(16, false);
  EXPECT_EQ(r.read(100, 4, 5), (counts{1, 1, 1, 1}));
  EXPECT_EQ(r.read(200, 7), (counts{1, 2, 4}));
}

TEST(fault_rows, a_row_that_is_met_again_comes_at_once_but_for_its_last_page) {
  reader r(16);
  EXPECT_EQ(r.read(100, 15), (counts{1, 2, 4, 8}));
  EXPECT_EQ(r.read(1000, 7), (counts{1, 2, 4}));
  EXPECT_EQ(r.read(100, 15), (counts{14, 1}));
  EXPECT_EQ(r.read(1000, 7), (counts{6, 1}));
  EXPECT_EQ(r.read(100, 17), (counts{14, 1, 2}));
  EXPECT_EQ(r.read(1000, 7), (counts{6, 1}));
  EXPECT_EQ(r.read(100, 17), (counts{16, 1}));
}

TEST(fault_rows, so_does_a_row_with_distances) {
  reader r(16);
  r.read(100, 8, 9);
  r.read(5000, 1);
  EXPECT_EQ(r.read(100, 8, 9), (counts{7, 1}));
}

TEST(fault_rows, a_row_that_is_not_used_to_its_end_becomes_shorter_until_it_is_none) {
  reader r(16);
  r.read(100, 15);
  page_id before = 16;
  for (int times = 0; times < 8; ++times) {
    r.read(5000 + 100 * times, 1);
    const auto now = r.read(100, 1);
    ASSERT_EQ(now.size(), 1u);
    EXPECT_LT(now.front(), before);
    before = std::max<page_id>(now.front(), 2);
  }
  EXPECT_EQ(before, 2u);
}

TEST(fault_rows, no_more_than_is_allowed_comes_at_once) {
  reader r(1);
  EXPECT_EQ(r.read(100, 5), (counts{1, 1, 1, 1, 1}));
  r.read(1000, 1);
  EXPECT_EQ(r.read(100, 3), (counts{1, 1, 1}));
}

}  // namespace
}  // namespace weft::dsm
