// The roll-call's sentences, from answers that nodes might give, and the names of places in a program.
#include <gtest/gtest.h>

#include "os/symbols.h"
#include "insight/roll_call.h"

namespace weft::runtime {

// Outside the unnamed namespace, so that their names are short.
int some_variable = 1;
[[gnu::noinline]] const void* some_function() {
  return __builtin_return_address(0);
}
[[gnu::noinline]] std::string place_in_another_function() {
  return os::name_of_code(some_function());
}

namespace {

using control::presence;
using control::thread_state;

thread_state waiting(wait_kind what, std::uint64_t object, std::uint64_t detail = 0) {
  thread_state t;
  t.waits_for = static_cast<std::uint8_t>(what);
  t.object = object;
  t.detail = detail;
  t.waited = 1'500'000'000;
  return t;
}

roll_answer node(std::uint32_t number, std::vector<thread_state> threads, std::uint64_t barriers = 0,
                 std::vector<std::uint64_t> held = {}) {
  return {number, presence{number, 1, 0, barriers, std::move(threads), std::move(held)}, ""};
}

using lines = std::vector<std::string>;

TEST(roll_call, a_barrier_is_told_once_for_all_who_wait_there) {
  const auto at_17 = waiting(wait_kind::barrier, 0, 17);
  const std::vector<roll_answer> nodes{node(0, {at_17}, 17), node(1, {at_17}, 17), node(2, {{}}, 16), node(3, {at_17}, 17)};
  EXPECT_EQ(tell_roll(nodes), (lines{"nodes 0, 1 and 3 have reached barrier 17 and wait 1.5 s; node 2 has not: it computes",
                                     "node 2 thread 0 computes"}));
}

TEST(roll_call, several_who_are_missing_are_named_together) {
  const std::vector<roll_answer> nodes{
      node(0, {waiting(wait_kind::barrier, 0, 3)}, 3), node(1, {{}}, 2), {2, {}, "does not answer"}};
  EXPECT_EQ(tell_roll(nodes), (lines{"node 0 has reached barrier 3 and waits 1.5 s; nodes 1 and 2 have not",
                                     "node 1 thread 0 computes", "node 2 does not answer"}));
}

TEST(roll_call, a_node_that_has_left_a_barrier_already_is_not_missing_there) {
  const std::vector<roll_answer> nodes{node(0, {waiting(wait_kind::barrier, 0, 3)}, 3), node(1, {{}}, 3)};
  EXPECT_EQ(tell_roll(nodes), (lines{"node 0 has reached barrier 3 and waits 1.5 s", "node 1 thread 0 computes"}));
}

TEST(roll_call, the_holder_of_a_mutex_is_known_from_whoever_knows_it) {
  auto known_here = waiting(wait_kind::mutex, 0x40);
  known_here.holder = 3;
  known_here.name = "0x40";
  known_here.where = "prog+0x10";
  const std::vector<roll_answer> nodes{node(0, {known_here}), node(1, {waiting(wait_kind::mutex, 7)}), node(2, {{}}, 0, {5, 7})};
  EXPECT_EQ(tell_roll(nodes), (lines{"node 0 thread 0 waits 1.5 s for mutex 0x40 (held by node 2) at prog+0x10",
                                     "node 1 thread 0 waits 1.5 s for mutex (held by node 2)", "node 2 thread 0 computes"}));
}

TEST(roll_call, a_kind_that_nobody_knows_does_no_harm) {
  thread_state odd;
  odd.waits_for = 200;
  const std::vector<roll_answer> nodes{node(0, {odd})};
  EXPECT_EQ(tell_roll(nodes), (lines{"node 0 thread 0 waits 0.0 s for something"}));
}

TEST(symbols, code_and_variables_have_their_names) {
  const auto place = place_in_another_function();
  EXPECT_NE(place.find("+0x"), std::string::npos) << place;
  EXPECT_NE(place.find(" in weft::runtime::place_in_another_function"), std::string::npos) << place;
  EXPECT_EQ(os::name_of_variable(&some_variable), "weft::runtime::some_variable");
}

TEST(symbols, what_is_in_no_program_has_no_name) {
  int on_the_stack = 0;
  EXPECT_EQ(os::name_of_variable(&on_the_stack), "");
  EXPECT_EQ(os::name_of_code(nullptr), "");
  EXPECT_EQ(os::name_of_code(&on_the_stack).substr(0, 2), "0x");
}

}  // namespace
}  // namespace weft::runtime
