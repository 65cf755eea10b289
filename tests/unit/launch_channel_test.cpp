// The loop that the launcher and the agents live in, and the channels inside it.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include "launch/channel.h"
#include "launch/processes.h"

namespace weft::launch {
namespace {

struct pair_of_ends {
  os::descriptor a_in, a_out, b_in, b_out;
};

pair_of_ends connected() {
  int s[2];
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, s), 0);
  return {os::descriptor(s[0]), os::descriptor(::dup(s[0])), os::descriptor(s[1]), os::descriptor(::dup(s[1]))};
}

TEST(reactor, timers_run_in_time_and_not_when_cancelled) {
  reactor loop;
  int runs = 0;
  const auto cancelled = loop.after(base::millisecond, [&] { runs += 100; });
  loop.after(2 * base::millisecond, [&] { ++runs; });
  loop.after(base::millisecond, [&] { loop.cancel(cancelled); });
  loop.cancel(cancelled);
  while (runs == 0) loop.turn();
  EXPECT_EQ(runs, 1);
}

TEST(reactor, a_watch_that_was_forgotten_by_another_is_not_called) {
  reactor loop;
  auto ends = connected();
  auto others = connected();
  int calls = 0;
  const auto both = [&](int mine, int other) {
    loop.watch(mine, POLLIN, [&loop, &calls, mine, other] {
      ++calls;
      loop.forget(mine);
      loop.forget(other);
    });
  };
  both(ends.a_in.get(), others.a_in.get());
  both(others.a_in.get(), ends.a_in.get());
  ASSERT_EQ(::write(ends.b_in.get(), "x", 1), 1);
  ASSERT_EQ(::write(others.b_in.get(), "x", 1), 1);
  loop.turn();
  EXPECT_EQ(calls, 1);
}

TEST(channel, messages_arrive_in_order_however_large) {
  reactor loop;
  auto ends = connected();
  std::vector<std::uint32_t> rounds;
  channel a(loop, std::move(ends.a_in), std::move(ends.a_out), {[](control::message) {}, [] {}});
  channel b(loop, std::move(ends.b_in), std::move(ends.b_out),
            {[&](control::message m) {
               const auto& c = std::get<control::card>(m);
               EXPECT_EQ(c.data.size(), c.round * 100'000u);
               rounds.push_back(c.round);
             },
             [] {}});
  for (std::uint32_t round = 1; round <= 20; ++round) a.send(control::card{0, round, base::byte_buffer(round * 100'000u)});
  EXPECT_FALSE(a.idle());
  while (rounds.size() < 20) loop.turn();
  EXPECT_TRUE(a.idle());
  EXPECT_TRUE(std::is_sorted(rounds.begin(), rounds.end()));
}

TEST(channel, noise_before_the_greeting_is_kept_apart) {
  reactor loop;
  auto ends = connected();
  int messages = 0;
  channel a(loop, std::move(ends.a_in), std::move(ends.a_out), {[](control::message) {}, [] {}});
  channel b(loop, std::move(ends.b_in), std::move(ends.b_out), {[&](control::message) { ++messages; }, [] {}});
  b.expect_greeting();
  a.send_raw("Welcome to this host.\n");
  a.send_raw(control::greeting.substr(0, 5));
  loop.turn();
  a.send_raw(control::greeting.substr(5));
  a.send(control::ready{"1"});
  while (messages == 0) loop.turn();
  EXPECT_TRUE(b.greeted());
  EXPECT_EQ(b.noise(), "Welcome to this host.\n");
}

TEST(channel, garbage_and_the_end_of_the_other_side_are_told_once) {
  for (const bool garbage : {true, false}) {
    reactor loop;
    auto ends = connected();
    int closed = 0;
    channel b(loop, std::move(ends.b_in), std::move(ends.b_out), {[](control::message) {}, [&] { ++closed; }});
    if (garbage) {
      ASSERT_EQ(::write(ends.a_in.get(), "\xff\xff\xff\xffgarbage", 11), 11);
    } else {
      ends.a_in.close();
      ends.a_out.close();
    }
    while (closed == 0) loop.turn();
    EXPECT_EQ(closed, 1);
    EXPECT_FALSE(b.open());
    b.send(control::ready{"1"});  // goes nowhere, and does no harm
  }
}

TEST(processes, programs_are_found_as_a_shell_finds_them) {
  EXPECT_EQ(find_program("sh", "/", "/nowhere:/bin").path, "/bin/sh");
  EXPECT_EQ(find_program("./sh", "/bin", "").path, "/bin/./sh");
  EXPECT_EQ(find_program("/bin/sh", "/", "").path, "/bin/sh");
  EXPECT_EQ(find_program("no-such", "/", "/bin").exit_status, 127);
  EXPECT_EQ(find_program("/no/such", "/", "/bin").exit_status, 127);
  EXPECT_EQ(find_program("/bin", "/", "/bin").exit_status, 126);
  EXPECT_EQ(find_program("/etc/passwd", "/", "/bin").exit_status, 126);
  EXPECT_EQ(find_program("", "/", "/bin").exit_status, 127);
}

TEST(processes, a_program_that_cannot_start_gives_the_reason) {
  spawn_request request;
  request.words = {"/no/such/program"};
  auto r = spawn(request);
  EXPECT_EQ(r.pid, -1);
  EXPECT_EQ(r.why, ENOENT);
  request.words = {"/bin/true"};
  request.directory = "/no/such/folder";
  r = spawn(request);
  EXPECT_EQ(r.why, ENOENT);
  EXPECT_TRUE(r.at_directory);
}

}  // namespace
}  // namespace weft::launch
