// What a profile of pages finds out about who wrote which bytes.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "dsm/page_profile.h"

namespace weft::dsm {
namespace {

// Two pages that are written by hand, and many that nobody writes.
class plain_pages final : public pages {
 public:
  page_id count() const noexcept override { return page_profile::most_pages + 10; }
  const char* engine() const noexcept override { return "none"; }
  memory frames() const noexcept override { return {const_cast<std::byte*>(frames_.data()), frames_.size()}; }
  void open_cached(extent e) override {
    for (page_id p = e.first; p < e.last; ++p) take(p);
  }
  void open_watched(extent) override {}
  void open_free(extent) override {}
  void close(extent) override {}
  void watch(extent) override {}
  void mirror(extent) override {}
  void update(const patch&) override {}
  void read(page_id, std::byte*) override {}
  void first_write(page_id) override {}
  void reopen(page_id) override {}
  void take_written(std::vector<page_id>& into) override { into.insert(into.end(), written.begin(), written.end()); }
  bool take_changes(page_id p, changes& into) override {
    return into.add(p, frames_.data() + p * page_bytes, twins_.data() + p * page_bytes);
  }
  void write(page_id p, std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) frames_[p * page_bytes + i] ^= std::byte{1};
  }
  std::vector<page_id> written;

 private:
  void take(page_id p) { std::memcpy(twins_.data() + p * page_bytes, frames_.data() + p * page_bytes, page_bytes); }
  std::vector<std::byte> frames_ = std::vector<std::byte>(2 * page_bytes), twins_ = frames_;
};

std::unique_ptr<page_profile> profile_of(pages& memory) {
  return *page_profile::create(memory);
}

page_profile::byte_set bytes_from(std::size_t first, std::size_t last) {
  page_profile::byte_set all;
  for (std::size_t i = first / page_profile::grain; i < last / page_profile::grain; ++i) all.set(i);
  return all;
}

TEST(page_profile, that_is_off_keeps_nothing) {
  plain_pages memory;
  const auto made = profile_of(memory);
  page_profile& profile = *made;
  profile.fault(1, true);
  profile.open_cached({0, 2});
  EXPECT_EQ(profile.count_used(), 0u);
}

TEST(page_profile, tells_what_this_node_wrote_from_what_others_wrote) {
  plain_pages memory;
  const auto made = profile_of(memory);
  page_profile& profile = *made;
  profile.turn_on();
  changes sent;
  for (int turn = 0; turn < 3; ++turn) {
    profile.fault(0, false);
    profile.open_cached({0, 1});
    memory.write(0, 64, 128);  // this node
    EXPECT_TRUE(profile.take_changes(0, sent));
    profile.close({0, 1});
    memory.write(0, 0, 64);  // what comes with the next copy
  }
  profile.fault(0, false);
  profile.open_cached({0, 1});
  const auto all = profile.used(10);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].read_faults, 4u);
  EXPECT_EQ(all[0].fetches, 4u);
  EXPECT_EQ(all[0].writes, 3u);
  EXPECT_EQ(all[0].changed_bytes, 3u * 64);
  EXPECT_FALSE(all[0].home);
  EXPECT_EQ(all[0].written, bytes_from(64, 128));
  EXPECT_EQ(all[0].by_others, bytes_from(0, 64));
}

TEST(page_profile, counts_the_writes_of_a_home) {
  plain_pages memory;
  const auto made = profile_of(memory);
  page_profile& profile = *made;
  profile.turn_on();
  profile.fault(1, true);
  profile.open_watched({0, 2});  // page 0 without a fault of its own
  memory.written = {0, 1};
  std::vector<page_id> found;
  profile.take_written(found);
  profile.take_written(found);
  const auto all = profile.used(10);
  ASSERT_EQ(all.size(), 2u);
  for (const auto& each : all) {
    EXPECT_TRUE(each.home);
    EXPECT_EQ(each.writes, 2u);
  }
  EXPECT_EQ(all[0].page, 1u) << "the one with the fault costs more";
}

TEST(page_profile, keeps_the_pages_that_cost_most) {
  plain_pages memory;
  const auto made = profile_of(memory);
  page_profile& profile = *made;
  profile.turn_on();
  for (page_id p = 0; p < page_profile::most_pages + 10; ++p) profile.fault(p, false);
  profile.fault(77, true);
  EXPECT_EQ(profile.count_used(), page_profile::most_pages);
  const auto all = profile.used(2);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].page, 77u);
}

}  // namespace
}  // namespace weft::dsm
