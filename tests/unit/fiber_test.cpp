#include "testbed/fiber.h"

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace weft::testbed {
namespace {

TEST(fiber, runs_where_it_was_left) {
  fiber thread;
  std::string log;
  fiber one(
      [&] {
        log += "a";
        one.switch_to(thread);
        log += "b";
      },
      thread);
  EXPECT_EQ(log, "");
  thread.switch_to(one);
  EXPECT_EQ(log, "a");
  EXPECT_FALSE(one.finished());
  thread.switch_to(one);
  EXPECT_EQ(log, "ab");
  EXPECT_TRUE(one.finished());
}

TEST(fiber, goes_from_one_to_another_without_the_thread) {
  fiber thread;
  std::vector<std::unique_ptr<fiber>> ring;
  constexpr std::size_t many = 1024;
  std::vector<int> visits(many);
  for (std::size_t i = 0; i < many; ++i)
    ring.push_back(std::make_unique<fiber>(
        [&, i] {
          for (int round = 0; round < 3; ++round) {
            ++visits[i];
            ring[i]->switch_to(i + 1 < many ? *ring[i + 1] : round < 2 ? *ring[0] : thread);
          }
        },
        thread, 32 << 10));
  thread.switch_to(*ring[0]);
  EXPECT_EQ(visits, std::vector<int>(many, 3));
}

TEST(fiber, handles_its_own_exceptions_while_others_handle_theirs) {
  fiber thread;
  std::vector<std::string> caught;
  const auto body = [&](fiber*& self, const char* text) {
    return [&caught, &self, &thread, text] {
      try {
        throw std::runtime_error(text);
      } catch (const std::exception& e) {
        self->switch_to(thread);  // inside the handler
        try {
          throw;
        } catch (const std::exception& again) {
          caught.push_back(std::string(e.what()) + again.what());
        }
      }
    };
  };
  fiber *a_is = nullptr, *b_is = nullptr;
  fiber a(body(a_is, "a"), thread), b(body(b_is, "b"), thread);
  a_is = &a, b_is = &b;
  thread.switch_to(a);
  thread.switch_to(b);
  EXPECT_EQ(std::uncaught_exceptions(), 0);
  thread.switch_to(a);
  thread.switch_to(b);
  EXPECT_EQ(caught, (std::vector<std::string>{"aa", "bb"}));
}

TEST(fiber, can_be_given_up_while_suspended) {
  fiber thread;
  for (int i = 0; i < 100; ++i) {
    fiber one([&] { one.switch_to(thread); }, thread);
    thread.switch_to(one);
    EXPECT_FALSE(one.finished());
  }
}

TEST(fiber_death, a_stack_that_is_used_up_is_noticed) {
  fiber thread;
  const std::function<int(int)> deep = [&](int n) {
    volatile char room[512];
    room[0] = static_cast<char>(n);
    return n == 0 ? room[0] : deep(n - 1) + room[0];
  };
  fiber one([&] { deep(1'000'000); }, thread, 64 << 10);
  EXPECT_DEATH(thread.switch_to(one), "");
}

}  // namespace
}  // namespace weft::testbed
