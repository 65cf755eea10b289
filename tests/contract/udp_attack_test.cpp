// A live node under attack: a hundred thousand datagrams that are random, damaged, replayed or another job's. It answers none of
// them, nothing changes, and each is counted.
//
// The attacker sits where a bad network would: node 1 is told the attacker's address as node 0's, so the attacker sees real
// datagrams, passes them on, and keeps some to damage and to repeat.
#include <thread>

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/random.h"
#include "contract/cluster.h"
#include "reliable/wire.h"
#include "fabric/udp/address.h"
#include "fabric/udp/udp_port.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using fabric::fabric;
namespace udp = weft::fabric::udp;
namespace reliable = weft::reliable;

constexpr handler_id h_take = first_user_handler;
constexpr std::uint64_t attacks = 100'000;

// Loopback socket of the attacker's own.
struct raw_socket {
  int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  std::uint16_t port = 0;

  raw_socket() {
    sockaddr_in a{};
    a.sin_family = AF_INET;
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&a), sizeof a), 0);
    socklen_t n = sizeof a;
    ::getsockname(fd, reinterpret_cast<sockaddr*>(&a), &n);
    port = ntohs(a.sin_port);
  }
  ~raw_socket() { ::close(fd); }

  void send(std::uint16_t to, base::byte_view data) const {
    sockaddr_in a{};
    a.sin_family = AF_INET;
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    a.sin_port = htons(to);
    ::sendto(fd, data.data(), data.size(), 0, reinterpret_cast<sockaddr*>(&a), sizeof a);
  }
  bool receive(base::byte_buffer& into, int milliseconds) const {
    pollfd p{fd, POLLIN, 0};
    if (::poll(&p, 1, milliseconds) != 1) return false;
    into.resize(65536);
    const auto n = ::recv(fd, into.data(), into.size(), 0);
    into.resize(n < 0 ? 0 : static_cast<std::size_t>(n));
    return n >= 0;
  }
};

// Another job's traffic to node 0: right in every way but the key and the group.
std::vector<base::byte_buffer> other_jobs_datagrams() {
  reliable::seal other({std::byte{1}, std::byte{2}});
  std::vector<base::byte_buffer> made;
  for (std::uint64_t group : {std::uint64_t{99}, options_for({"udp", "", "", 2, {}}, 0).group}) {
    reliable::link_options o;
    o.self = 1;
    o.peer = 0;
    o.group = group;
    o.sealer = &other;
    reliable::link l(o);
    for (int i = 0; i < 20; ++i) {
      l.push(lane::request, base::bytes_of(i));
      reliable::link::outgoing out;
      while (l.transmit(1000 * (i + 1), out)) {
        base::byte_buffer d(out.header.begin(), out.header.end());
        d.insert(d.end(), out.payload.begin(), out.payload.end());
        made.push_back(d);
      }
    }
  }
  return made;
}

base::byte_buffer damaged(base::byte_buffer d, base::random& r) {
  switch (r.below(3)) {
    case 0: d.resize(r.below(d.size())); break;
    case 1: d.resize(d.size() + r.below(100) + 1, std::byte{0x5a}); break;
    default: d[r.below(d.size())] ^= static_cast<std::byte>(1 + r.below(255));
  }
  return d;
}

struct attacker {
  raw_socket front, own;
  std::uint16_t victim = 0;
  std::vector<base::byte_buffer> captured;

  // Passes real datagrams on until the end of the test; keeps copies until node 0 has had its messages.
  void relay(meeting& where, const std::atomic<bool>& over) {
    base::byte_buffer d;
    while (!over)
      if (front.receive(d, 20)) {
        if (where.word(1) == 0 && captured.size() < 200) captured.push_back(d);
        front.send(victim, d);
      }
  }

  // Sends the attacks in small volleys, so that the kernel drops none before node 0 can count it.
  void strike(meeting& where) {
    base::random r(2026);
    const auto others = other_jobs_datagrams();
    std::uint64_t sent = 0;
    while (sent < attacks) {
      for (int volley = 0; volley < 100; ++volley, ++sent) {
        base::byte_buffer d;
        switch (r.below(4)) {
          case 0:
            d.resize(r.below(2000));
            for (auto& b : d) b = static_cast<std::byte>(r.next());
            break;
          case 1: d = damaged(captured[r.below(captured.size())], r); break;
          case 2: d = captured[r.below(captured.size())]; break;
          default: d = others[r.below(others.size())];
        }
        own.send(victim, d);
      }
      where.word(2) = sent;
      const auto until = std::chrono::steady_clock::now() + 10s;
      while (where.word(3) < sent && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(50us);
    }
  }
};

// Node 0's part: counts what comes while the attack lasts, and finds its memory and its handlers untouched.
void endure(fabric& port, meeting& shared, const memory& memory, const std::atomic<int>& taken, int messages) {
  EXPECT_TRUE(port.wait([&] { return taken == messages; }, 10s).ok());
  std::memset(memory.base, 0, memory.size);  // a put that is performed twice would show
  const auto before = port.statistics();
  shared.word(1) = 1;
  while (shared.word(4) == 0) {
    port.poll();
    const auto s = port.statistics();
    shared.word(3) = s.rejected + s.datagrams_in - before.rejected - before.datagrams_in;
    std::this_thread::yield();
  }
  const auto after = port.statistics();
  EXPECT_EQ(taken, messages) << "a message was handled again";
  EXPECT_EQ(base::load<word>(memory.base), 0u) << "a put was performed again";
  EXPECT_GE(after.rejected - before.rejected + after.datagrams_in - before.datagrams_in, attacks);
  EXPECT_GT(after.duplicates - before.duplicates, 0u) << "no replay was seen as one";
  EXPECT_GT(after.rejected - before.rejected, attacks / 2);
}

TEST(udp_attack, a_hundred_thousand_bad_datagrams_change_nothing_are_counted_and_get_no_answer) {
  attacker a;
  meeting* shared = meeting::create(2);
  std::atomic<bool> over{false};
  std::thread relay, thread;
  setup what{"udp", "", "", 2};
  what.meanwhile = [&] {
    relay = std::thread([&] {
      while (shared->word(0) == 0) std::this_thread::sleep_for(1ms);
      a.victim = static_cast<std::uint16_t>(shared->word(0).load());
      a.relay(*shared, over);
    });
    thread = std::thread([&] {
      while (shared->word(1) == 0) std::this_thread::sleep_for(1ms);
      if (!a.captured.empty()) a.strike(*shared);
      base::byte_buffer d;
      shared->word(5) = a.own.receive(d, 100) ? 1 : 0;
      shared->word(4) = 1;
    });
  };
  what.edit_cards = [&](node_id self, std::vector<base::byte_buffer>& cards) {
    auto card = *udp::card::unpack(cards[0]);
    shared->word(0) = card.port;
    card.port = a.front.port;
    if (self == 1) cards[0] = card.pack();
  };
  run_on_nodes(what, [&](fabric& port, meeting& where) {
    std::atomic<int> taken{0};
    port.on(h_take, [&](const message&) { ++taken; });
    auto memory = port.allocate(4096);
    auto window = port.expose(*memory, rights::all);
    const auto windows = where.gather(port.self(), *window);
    constexpr int messages = 50;
    if (port.self() == 1) {
      for (int i = 0; i < messages; ++i) {
        EXPECT_TRUE(port.send(0, lane::request, h_take, {}).ok());
        EXPECT_TRUE(port.put(0, windows[0], 0, base::bytes_of(word{7})).ok());
      }
      EXPECT_TRUE(port.fence(0).ok());
    }
    where.barrier();
    if (port.self() == 0) {
      endure(port, *shared, *memory, taken, messages);
    } else {
      while (shared->word(4) == 0) std::this_thread::sleep_for(1ms);
    }
    where.barrier();
    // And the link still works.
    const bool fine = port.self() == 0 || (port.put(0, windows[0], 8, base::bytes_of(word{9})).ok() && port.fence(0).ok());
    EXPECT_TRUE(fine);
    where.barrier();
    EXPECT_EQ(base::load<word>(memory->base + 8), port.self() == 0 ? 9u : 0u);
  });
  shared->word(1) = shared->word(4) = 1;  // if a node failed, let the attacker end
  if (shared->word(0) == 0) shared->word(0) = 1;
  thread.join();
  over = true;
  relay.join();
  EXPECT_EQ(shared->word(5), 0u) << "the attacker got an answer";
  meeting::destroy(shared);
}

}  // namespace
}  // namespace weft::test
