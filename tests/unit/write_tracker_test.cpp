// Which pages were written, in both ways of finding out.
#include "os/write_tracker.h"

#include <csignal>
#include <thread>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

namespace weft::os {
namespace {

// A way of tracking, and whether the memory is a file's.
class write_tracker_test : public ::testing::TestWithParam<std::pair<write_tracker::way, bool>> {
 protected:
  static constexpr std::size_t pages = 1000;
  void SetUp() override {
    if (GetParam().second) {
      const int file = ::memfd_create("tracked", 0);
      ASSERT_EQ(::ftruncate(file, pages * page_bytes), 0);
      base = static_cast<std::byte*>(::mmap(nullptr, pages * page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
      ::close(file);
    } else {
      base =
          static_cast<std::byte*>(::mmap(nullptr, pages * page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    }
    auto made = write_tracker::create(base, pages * page_bytes, GetParam().first);
    ASSERT_TRUE(made.ok()) << made.sentence();
    tracker = std::move(*made);
  }
  void TearDown() override {
    tracker.reset();
    ::munmap(base, pages * page_bytes);
  }
  void write(std::size_t page, int value = 1) { *reinterpret_cast<volatile int*>(base + page * page_bytes + 40) = value; }
  std::vector<page_range> written() {
    std::vector<page_range> found;
    tracker->written(found);
    return found;
  }
  std::vector<page_range> taken() {
    std::vector<page_range> found;
    tracker->take_written(found);
    return found;
  }
  using ranges = std::vector<page_range>;

  std::byte* base = nullptr;
  std::unique_ptr<write_tracker> tracker;
};

TEST_P(write_tracker_test, reports_what_was_written_and_nothing_else) {
  EXPECT_EQ(written(), ranges{});
  volatile int sink = *reinterpret_cast<int*>(base + 5 * page_bytes);  // reading is not writing
  (void)sink;
  EXPECT_EQ(written(), ranges{});
  for (const std::size_t page : {0u, 7u, 8u, 9u, 999u}) write(page);
  const ranges all = {{0, 1}, {7, 10}, {999, 1000}};
  EXPECT_EQ(written(), all);
  EXPECT_EQ(written(), all) << "written pages stay so until they are protected";
  tracker->protect({8, 9});
  EXPECT_EQ(written(), (ranges{{0, 1}, {7, 8}, {9, 10}, {999, 1000}}));
  EXPECT_EQ(taken().size(), 4u);
  EXPECT_EQ(taken(), ranges{});
  write(8);
  EXPECT_EQ(taken(), (ranges{{8, 9}}));
}

TEST_P(write_tracker_test, finds_every_page_of_many_scattered_ones) {
  ranges expected;
  for (std::size_t page = 0; page < pages; page += 2) {
    write(page);
    expected.push_back({page, page + 1});
  }
  EXPECT_EQ(taken(), expected);  // more ranges than one question to the kernel brings
}

TEST_P(write_tracker_test, misses_no_write_that_races_with_taking) {
  std::atomic<bool> over{false};
  auto* word = reinterpret_cast<std::atomic<int>*>(base + 3 * page_bytes);
  std::thread writer([&] {
    for (int i = 1; i <= 3000; ++i) word->store(i);
    over = true;
  });
  int seen = 0;
  bool last_round = false;
  while (true) {
    last_round = over;
    if (!taken().empty()) seen = word->load();
    if (last_round) break;
  }
  writer.join();
  EXPECT_EQ(seen, 3000);
}

INSTANTIATE_TEST_SUITE_P(ways, write_tracker_test,
                         ::testing::Values(std::pair(write_tracker::way::best, false), std::pair(write_tracker::way::best, true),
                                           std::pair(write_tracker::way::faults, false),
                                           std::pair(write_tracker::way::faults, true)),
                         [](const auto& i) {
                           return std::string(i.param.first == write_tracker::way::best ? "best" : "faults") +
                                  (i.param.second ? "_of_a_file" : "");
                         });

TEST(write_tracker, takes_the_kernels_record_where_there_is_one) {
  auto* page = static_cast<std::byte*>(::mmap(nullptr, page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  auto best = write_tracker::create(page, page_bytes);
  ASSERT_TRUE(best.ok()) << best.sentence();
  EXPECT_STREQ((*best)->name(), kernel_records_writes() ? "kernel" : "faults");
  if (kernel_records_writes()) {  // a system call that writes there is seen as well
    int pipe[2];
    ASSERT_EQ(::pipe(pipe), 0);
    ASSERT_EQ(::write(pipe[1], "x", 1), 1);
    ASSERT_EQ(::read(pipe[0], page, 1), 1);
    std::vector<page_range> found;
    (*best)->written(found);
    EXPECT_EQ(found.size(), 1u);
    ::close(pipe[0]);
    ::close(pipe[1]);
  }
  EXPECT_EQ(write_tracker::create(page + 8, page_bytes).code(), errc::invalid_argument);
  EXPECT_EQ(write_tracker::create(page, 100).code(), errc::invalid_argument);
  best->reset();
  ::munmap(page, page_bytes);
}

// A crash of the program's own looks like its own crash.
TEST(write_tracker, lets_other_faults_be) {
  auto crash = [] {
    auto* page = static_cast<std::byte*>(::mmap(nullptr, page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    auto* secret = static_cast<volatile int*>(::mmap(nullptr, page_bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    auto tracker = write_tracker::create(page, page_bytes, write_tracker::way::faults);
    *secret = 1;
  };
#if defined(__SANITIZE_ADDRESS__)
  EXPECT_DEATH(crash(), "SEGV on unknown address");  // the sanitizer's handler, which was there before ours
#else
  EXPECT_EXIT(crash(), ::testing::KilledBySignal(SIGSEGV), "");
#endif
}

}  // namespace
}  // namespace weft::os
