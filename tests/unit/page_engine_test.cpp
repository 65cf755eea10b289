// One contract for both page engines.
#include <gtest/gtest.h>

#include <csetjmp>
#include <csignal>
#include <cstring>
#include <functional>
#include <thread>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/fault_trap.h"
#include "os/memory_file.h"
#include "os/page_engine.h"

namespace weft::os {
namespace {

std::byte* const somewhere = reinterpret_cast<std::byte*>(std::uintptr_t{0x5f00'0000'0000});
constexpr std::size_t pages = 64;
volatile int* volatile crash_here = nullptr;

class a_page_engine : public testing::TestWithParam<page_engine::way>, public page_engine::fault_handler {
 protected:
  a_page_engine() {
    file = create_memory_file("frames", pages * page_bytes).or_throw();
    system = map_file(file.get(), 0, pages * page_bytes, true).or_throw();
    engine = page_engine::create(somewhere, pages * page_bytes, file.get(), *this, GetParam()).or_throw();
  }

  bool on_fault(std::size_t page, bool write) override {
    ++faults;
    if (page >= there) return false;
    if (answer) {
      answer(page, write);
    } else if (write && !engine->records_writes() && opened) {
      engine->note_write(page);
    } else {
      engine->open_watched({page, page + 1});
      opened = true;
    }
    return true;
  }

  volatile char& at(std::size_t page, std::size_t offset = 0) {
    return reinterpret_cast<volatile char*>(somewhere)[page * page_bytes + offset];
  }
  char& frame(std::size_t page) { return reinterpret_cast<char*>(system.base())[page * page_bytes]; }
  std::vector<page_range> written(page_range among) {
    std::vector<page_range> all;
    engine->find_written(among, all);
    for (const auto& r : all) engine->watch(r);
    return all;
  }
  // Writes to open pages, whichever way the engine learns of it.
  void write(std::size_t page, char value) {
    answer = [this](std::size_t p, bool) { engine->note_write(p); };
    at(page) = value;
    answer = nullptr;
  }

  unique_fd file;
  mapping system;
  std::unique_ptr<page_engine> engine;
  std::function<void(std::size_t, bool)> answer;
  int faults = 0;
  std::size_t there = pages;  // pages from here on do not exist, as far as the handler says
  bool opened = false;
};

TEST_P(a_page_engine, has_a_closed_page_fault_until_it_is_opened) {
  frame(3) = 'x';
  EXPECT_EQ(at(3), 'x');
  EXPECT_EQ(faults, 1);
  EXPECT_EQ(at(3), 'x');
  EXPECT_EQ(faults, 1);
}

TEST_P(a_page_engine, says_whether_it_was_a_write) {
  bool was_write = false;
  answer = [&](std::size_t p, bool write) {
    was_write = write;
    engine->open_free({p, p + 1});
  };
  EXPECT_EQ(at(1), 0);
  EXPECT_FALSE(was_write);
  at(2) = 'y';
  EXPECT_TRUE(was_write);
  EXPECT_EQ(frame(2), 'y');
}

TEST_P(a_page_engine, opens_a_page_that_nobody_has_ever_touched_as_zeros) {
  engine->open_free({5, 9});
  for (std::size_t p = 5; p < 9; ++p) EXPECT_EQ(at(p), 0);
  EXPECT_EQ(faults, 0);
}

TEST_P(a_page_engine, reports_the_written_ones_of_the_watched_pages_once) {
  engine->open_watched({0, 20});
  for (const std::size_t p : {2, 3, 9}) write(p, 'w');
  engine->reopen(4);
  EXPECT_EQ(written({0, 20}), (std::vector<page_range>{{2, 4}, {9, 10}}));
  EXPECT_TRUE(written({0, 20}).empty());
  write(9, 'v');
  EXPECT_EQ(written({5, 20}), (std::vector<page_range>{{9, 10}}));
}

TEST_P(a_page_engine, does_not_report_pages_outside_the_range_asked_for) {
  engine->open_watched({0, 10});
  write(1, 'w');
  write(8, 'w');
  EXPECT_EQ(written({0, 5}), (std::vector<page_range>{{1, 2}}));
  EXPECT_EQ(written({5, 10}), (std::vector<page_range>{{8, 9}}));
}

TEST_P(a_page_engine, lets_free_pages_be_written_without_a_fault_and_watches_them_when_told) {
  engine->open_free({4, 6});
  at(4) = 'a';
  EXPECT_EQ(faults, 0);
  engine->watch({4, 6});
  write(5, 'b');
  EXPECT_EQ(written({4, 6}), (std::vector<page_range>{{5, 6}}));
}

TEST_P(a_page_engine, frees_a_page_that_was_watched) {
  engine->open_watched({4, 6});
  engine->open_free({4, 6});
  at(4) = 'a';
  at(5) = 'a';
  EXPECT_EQ(faults, 0);
}

TEST_P(a_page_engine, keeps_the_frame_of_a_page_that_it_closes) {
  engine->open_free({7, 8});
  at(7) = 'k';
  engine->close({7, 8});
  EXPECT_EQ(frame(7), 'k');
  frame(7) = 'l';
  EXPECT_EQ(at(7), 'l');
  EXPECT_EQ(faults, 1);
}

TEST_P(a_page_engine, forgets_the_writes_of_a_page_that_was_closed_and_opened_again) {
  engine->open_watched({7, 8});
  write(7, 'k');
  engine->close({7, 8});
  engine->open_watched({7, 8});
  EXPECT_TRUE(written({7, 8}).empty());
}

TEST_P(a_page_engine, leaves_a_written_page_closed_when_it_collects) {
  engine->open_watched({5, 9});
  write(7, 'k');
  engine->close({7, 8});
  for (const auto& r : written({5, 9})) EXPECT_EQ(r, (page_range{7, 8})) << "nothing else than the closed page";
  const int before = faults;
  EXPECT_EQ(at(7), 'k');
  EXPECT_EQ(faults, before + 1);
}

TEST_P(a_page_engine, serves_faults_of_several_threads_at_once) {
  std::atomic<int> served{0};
  answer = [&](std::size_t p, bool) {
    ++served;
    engine->open_free({p, p + 1});
  };
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (std::size_t p = 0; p < pages; ++p) at(p, 64 * t + 1) = static_cast<char>(t + 1);
    });
  for (auto& t : threads) t.join();
  for (std::size_t p = 0; p < pages; ++p)
    for (unsigned t = 0; t < 4; ++t) ASSERT_EQ(at(p, 64 * t + 1), static_cast<char>(t + 1));
  EXPECT_GE(served, static_cast<int>(pages));
}

TEST_P(a_page_engine, misses_no_write_of_another_thread_while_it_collects) {
  engine->open_watched({0, 1});
  answer = [this](std::size_t p, bool) { engine->note_write(p); };
  std::atomic<bool> stop{false};
  std::uint64_t last = 0;
  std::thread writer([&] {
    auto& counter = *reinterpret_cast<volatile std::uint64_t*>(somewhere);
    while (!stop.load()) counter = ++last;
  });
  std::uint64_t reported = 0;
  for (int i = 0; i < 2000; ++i)
    if (!written({0, 1}).empty()) std::memcpy(&reported, system.base(), sizeof reported);
  stop = true;
  writer.join();
  if (!written({0, 1}).empty()) std::memcpy(&reported, system.base(), sizeof reported);
  EXPECT_EQ(reported, last) << "whatever was written is reported after it was";
}

TEST_P(a_page_engine, leaves_the_programs_own_crash_to_the_program) {
  const pid_t child = ::fork();
  if (child == 0) {
    *crash_here = 1;
    ::_exit(0);
  }
  int how = 0;
  ::waitpid(child, &how, 0);
  EXPECT_FALSE(WIFEXITED(how) && WEXITSTATUS(how) == 0);
  if (WIFSIGNALED(how)) {
    EXPECT_EQ(WTERMSIG(how), SIGSEGV);  // a sanitizer reports it and exits instead
  }
}

sigjmp_buf survived;
void* volatile reported = nullptr;

void survive(int, siginfo_t* info, void*) {
  reported = info->si_addr;
  ::siglongjmp(survived, 1);
}

// The address that a handler of the program's own is given for SIGSEGV.
void* segmentation_fault_of(const std::function<void()>& work) {
  struct sigaction mine {
  }, before{};
  mine.sa_sigaction = survive;
  mine.sa_flags = SA_SIGINFO;
  const auto set = [](const struct sigaction* now, struct sigaction* old) {
    if (!program_sets_handler(SIGSEGV, now, old)) ::sigaction(SIGSEGV, now, old);
  };
  reported = nullptr;
  set(&mine, &before);
  if (sigsetjmp(survived, 1) == 0) work();
  set(&before, nullptr);
  return reported;
}

TEST_P(a_page_engine, tells_the_programs_own_handler_where_it_went_wrong) {
  EXPECT_EQ(segmentation_fault_of([] { *reinterpret_cast<volatile int*>(std::uintptr_t{0x123450}) = 1; }),
            reinterpret_cast<void*>(std::uintptr_t{0x123450}));
  EXPECT_EQ(at(3), 0) << "its own faults are still handled";
}

TEST_P(a_page_engine, has_an_access_to_a_page_that_does_not_exist_end_in_a_segmentation_fault) {
  there = 5;
  EXPECT_EQ(segmentation_fault_of([this] { at(5, 12) = 'a'; }), somewhere + 5 * page_bytes + 12);
  EXPECT_EQ(segmentation_fault_of([this] { at(4) = 'a'; }), nullptr);
  EXPECT_EQ(frame(4), 'a');
}

INSTANTIATE_TEST_SUITE_P(each, a_page_engine, testing::Values(page_engine::way::uffd, page_engine::way::mprotect),
                         [](const auto& each) { return each.param == page_engine::way::uffd ? "uffd" : "mprotect"; });

}  // namespace
}  // namespace weft::os
