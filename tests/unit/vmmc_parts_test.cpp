// The parts of automatic update that need no network: finding changed words, and the map of reported stores.
#include <thread>

#include <gtest/gtest.h>

#include "base/random.h"
#include "vmmc/changed_words.h"
#include "hooks/store_map.h"

namespace weft::communication {
namespace {

TEST(changed_words, are_found_joined_and_taken_over_into_the_twin) {
  alignas(64) word live[512 + 3] = {}, twin[512 + 3] = {};
  auto take = [&](std::vector<run>& runs) {
    return take_changed_words(reinterpret_cast<std::byte*>(live), reinterpret_cast<std::byte*>(twin), sizeof live, 1000, runs);
  };
  std::vector<run> runs;
  EXPECT_FALSE(take(runs));
  live[0] = live[7] = live[8] = live[100] = live[514] = 5;
  EXPECT_TRUE(take(runs));
  ASSERT_EQ(runs.size(), 4u);
  EXPECT_EQ(runs[0].offset, 1000u);
  EXPECT_EQ(runs[1].offset, 1000u + 56);
  EXPECT_EQ(runs[1].data.size(), 16u);
  EXPECT_EQ(runs[3].offset, 1000u + 514 * 8);
  EXPECT_TRUE(std::equal(std::begin(live), std::end(live), std::begin(twin)));
  runs.clear();
  EXPECT_FALSE(take(runs));
}

struct map_of {
  explicit map_of(std::size_t size) : memory(size), map(memory) { EXPECT_TRUE(map.enter_table()); }
  ~map_of() { map.leave_table(); }
  void store(std::size_t at, std::size_t size) { hooks::report_store(memory.data() + at, size); }
  std::vector<std::pair<std::uint64_t, std::size_t>> take(bool own_thread = true) {
    std::vector<run> runs;
    map.take(runs, own_thread);
    std::vector<std::pair<std::uint64_t, std::size_t>> found;
    for (const run& r : runs) found.emplace_back(r.offset, r.data.size());
    return found;
  }
  std::vector<std::byte> memory;
  hooks::store_map map;
};

using runs_found = std::vector<std::pair<std::uint64_t, std::size_t>>;

TEST(store_map, gives_the_stored_bytes_once_and_joined) {
  map_of m(20000);
  EXPECT_EQ(m.take(), runs_found{});
  m.store(3, 1);
  m.store(4, 4);
  m.store(60, 8);
  m.store(4090, 300);
  m.store(19999, 8);  // the end of the memory cuts it
  EXPECT_EQ(m.take(), (runs_found{{3, 5}, {60, 8}, {4090, 300}, {19999, 1}}));
  EXPECT_EQ(m.take(), runs_found{});
  int elsewhere = 0;
  hooks::report_store(&elsewhere, sizeof elsewhere);
  EXPECT_EQ(m.take(), runs_found{});
}

TEST(store_map, agrees_with_a_plain_array_whatever_the_stores) {
  map_of m(30000);
  base::random r(4);
  for (int turn = 0; turn < 20; ++turn) {
    std::vector<bool> expected(30000), found(30000);
    for (int i = 0; i < 400; ++i) {
      const std::size_t size = std::size_t{1} << r.below(5), at = r.below(30000 - size);
      m.store(at, size);
      std::fill_n(expected.begin() + static_cast<std::ptrdiff_t>(at), size, true);
    }
    for (const auto& [at, size] : m.take()) std::fill_n(found.begin() + static_cast<std::ptrdiff_t>(at), size, true);
    EXPECT_TRUE(found == expected);
  }
}

// The hook comes before its store: a pass of another thread keeps the last one for next time.
TEST(store_map, keeps_the_last_store_of_another_thread) {
  map_of m(4096);
  m.store(8, 8);
  m.store(16, 8);
  runs_found first, second, own;
  std::thread([&] {
    first = m.take(false);
    second = m.take(false);
  }).join();
  EXPECT_EQ(first, (runs_found{{8, 16}}));
  EXPECT_EQ(second, (runs_found{{16, 8}}));
  EXPECT_EQ(m.take(), (runs_found{{16, 8}}));
  EXPECT_EQ(m.take(), runs_found{});
}

}  // namespace
}  // namespace weft::communication
