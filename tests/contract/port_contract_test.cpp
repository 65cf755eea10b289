// What every fabric promises (weft/port.h), tried on real processes: 1, 2, 4 and 8 nodes, with and without a bad network.
#include <algorithm>
#include <numeric>
#include <thread>

#include <sys/syscall.h>
#include <unistd.h>

#include "base/random.h"
#include "contract/cluster.h"
#include "contract/fabrics_under_test.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using base::bytes_of;
using fabric::fabric;

constexpr handler_id h_take = first_user_handler, h_ask = first_user_handler + 1, h_answer = first_user_handler + 2,
                     h_probe = first_user_handler + 3;

class port_contract : public ::testing::TestWithParam<setup> {
 protected:
  node_id nodes() const { return GetParam().nodes; }
  bool impaired() const { return !GetParam().impair.empty(); }
  // Fewer rounds where the network is bad or the cores are crowded.
  int rounds(int many) const { return std::max(4, many / (impaired() ? 8 : 1) / (nodes() > 2 ? 4 : 1)); }
};

#define OK(expression)                                 \
  do {                                                 \
    auto&& outcome_ = (expression);                    \
    ASSERT_TRUE(outcome_.ok()) << outcome_.sentence(); \
  } while (false)

// Handlers refer to what is on the body's stack: nobody leaves it while others may still send. To be declared after all of that.
struct leave_together {
  meeting& where;
  ~leave_together() { where.barrier(); }
};

// A window of `size` bytes on every node.
struct windows {
  memory mine;
  std::vector<window> all;

  windows(fabric& port, meeting& where, std::size_t size, rights allowed = rights::all) {
    auto m = port.allocate(size);
    if (!m.ok()) ADD_FAILURE() << m.sentence();
    mine = *m;
    auto w = port.expose(mine, allowed);
    if (!w.ok()) ADD_FAILURE() << w.sentence();
    all = where.gather(port.self(), *w);
  }
  word& word_at(std::size_t offset) { return *reinterpret_cast<word*>(mine.base + offset); }
  word look(std::size_t offset) { return std::atomic_ref(word_at(offset)).load(std::memory_order_acquire); }
};

// Takes all that is there; a wait's condition must leave nothing behind that would need it to be asked again.
template <typename F>
void drain(fabric& port, const queue& q, F&& take) {
  word values[64];
  while (true) {
    auto n = port.dequeue(q, values);
    if (!n.ok() || *n == 0) return;
    for (std::size_t i = 0; i < *n; ++i) take(values[i]);
  }
}

TEST_P(port_contract, put_delivers_any_size_at_any_alignment_and_touches_nothing_else) {
  const int turns = rounds(64);
  run_on_nodes(GetParam(), [&](fabric& port, meeting& where) {
    constexpr std::size_t size = 1 << 20;
    windows w(port, where, size * port.nodes());  // one part for every source
    const std::size_t sizes[] = {0, 1, 7, 8, 9, 63, 64, 1400, 1473, 4095, 4096, 4097, 8192, 32768, 65535, 65536, 65537, 300000};
    base::random r(port.self() + 1);
    std::vector<std::vector<std::byte>> expected(port.nodes(),
                                                 std::vector<std::byte>(size));  // what this node wrote at each target
    for (int i = 0; i < turns; ++i) {
      const auto to = static_cast<node_id>(r.below(port.nodes()));
      const std::size_t n = sizes[r.below(std::size(sizes))], at = r.below(size - n + 1);
      const auto data = pattern(r.next(), n);
      OK(port.put(to, w.all[to], port.self() * size + at, data));
      std::copy(data.begin(), data.end(), expected[to].begin() + static_cast<std::ptrdiff_t>(at));
    }
    for (node_id n = 0; n < port.nodes(); ++n) OK(port.fence(n));
    for (node_id n = 0; n < port.nodes(); ++n) {
      std::vector<std::byte> got(size);
      OK(port.get(n, w.all[n], port.self() * size, got));
      ASSERT_TRUE(same(got, expected[n])) << "node " << port.self() << " wrote to node " << n << " and finds something else";
    }
  });
}

TEST_P(port_contract, a_put_is_seen_before_what_was_issued_after_it) {
  const int turns = rounds(400);
  run_on_nodes(GetParam(), [&](fabric& port, meeting& where) {
    windows w(port, where, 4096 * port.nodes());
    auto q = port.make_queue(1 << 16);
    OK(q);
    const auto queues = where.gather(port.self(), *q);
    // Each message or word says which round its sender's put was for; the put must already be there.
    std::atomic<int> messages{0}, wrong{0};
    port.on(h_take, [&](const message& m) {
      if (w.look(m.source * 4096) < m.words[0]) ++wrong;
      ++messages;
    });
    where.barrier();
    leave_together at_the_end{where};
    const node_id to = (port.self() + 1) % port.nodes();
    for (word i = 1; i <= static_cast<word>(turns); ++i) {
      OK(port.put(to, w.all[to], port.self() * 4096, bytes_of(i)));
      const word words[] = {i};
      if (i % 2)
        OK(port.send(to, lane::request, h_take, words));
      else
        OK(port.enqueue(to, queues[to], i << 16 | port.self()));
    }
    int taken = 0;
    OK(port.wait(
        [&] {
          drain(port, *q, [&](word value) {
            if (w.look((value & 0xffff) * 4096) < value >> 16) ++wrong;
            ++taken;
          });
          return taken == turns / 2 && messages == (turns + 1) / 2;
        },
        20s));
    EXPECT_EQ(wrong, 0);
  });
}

TEST_P(port_contract, put_runs_writes_every_run_and_nothing_between) {
  run_on_nodes(GetParam(), [&](fabric& port, meeting& where) {
    constexpr std::size_t size = 256 * 1024;
    windows w(port, where, size * port.nodes());
    const node_id to = (port.self() + 1) % port.nodes();
    const auto data = pattern(port.self(), size);
    std::vector<std::byte> expected(size);
    base::random r(port.self() + 77);
    for (int turn = 0; turn < 4; ++turn) {
      std::vector<run> runs;
      for (std::size_t at = r.below(100); at < size;) {
        const std::size_t n = std::min<std::size_t>(r.below(10) == 0 ? r.below(70000) : r.below(64), size - at);
        runs.push_back({port.self() * size + at, bytes(data).subspan(at, n)});
        std::copy_n(data.begin() + static_cast<std::ptrdiff_t>(at), n, expected.begin() + static_cast<std::ptrdiff_t>(at));
        at += n + r.below(200) + 1;
      }
      OK(port.put_runs(to, w.all[to], runs));
    }
    OK(port.put_runs(to, w.all[to], {}));
    OK(port.fence(to));
    std::vector<std::byte> got(size);
    OK(port.get(to, w.all[to], port.self() * size, got));
    EXPECT_TRUE(same(got, expected));
  });
}

TEST_P(port_contract, gets_overlap_and_finish_in_any_order) {
  run_on_nodes(GetParam(), [&](fabric& port, meeting& where) {
    constexpr std::size_t size = 1 << 20;
    windows w(port, where, size);
    const auto data = pattern(port.self(), size);
    std::copy(data.begin(), data.end(), w.mine.base);
    where.barrier();
    const node_id from = (port.self() + 1) % port.nodes();
    const auto expected = pattern(from, size);
    std::vector<std::byte> got(size);
    std::vector<transfer> under_way;
    constexpr std::size_t pieces = 16;
    for (std::size_t i = 0; i < pieces; ++i) {
      auto t = port.start_get(from, w.all[from], i * (size / pieces), std::span(got).subspan(i * (size / pieces), size / pieces));
      OK(t);
      under_way.push_back(*t);
    }
    for (std::size_t i = pieces; i-- > 0;) {
      if (i % 3 == 0)
        while (!port.done(under_way[i])) std::this_thread::yield();
      OK(port.finish(under_way[i]));
    }
    EXPECT_TRUE(same(got, expected));
    std::byte one{};
    OK(port.get(from, w.all[from], size - 1, {&one, 1}));
    EXPECT_EQ(one, expected.back());
  });
}

TEST_P(port_contract, atomics_of_all_nodes_on_one_word_lose_nothing) {
  const int turns = rounds(400);
  run_on_nodes(GetParam(), [&](fabric& port, meeting& where) {
    windows w(port, where, 4096);
    word sum = 0;
    for (int i = 0; i < turns; ++i) {
      auto before = port.fetch_add(0, w.all[0], 0, 3);
      OK(before);
      sum += *before;
      for (word seen = 0;;) {  // a compare_swap loop, as a lock-free push would
        auto old = port.compare_swap(0, w.all[0], 8, seen, seen + 1);
        OK(old);
        if (*old == seen) break;
        seen = *old;
      }
    }
    // A bit of its own for each node: set by fetch_or in one word, cleared by fetch_and in another.
    const word mine = word{1} << port.self(), everybody = (word{1} << port.nodes()) - 1;
    if (port.self() == 0) {
      OK(port.put(0, w.all[0], 32, bytes_of(everybody)));
      OK(port.fence(0));
    }
    where.barrier();
    auto without = port.fetch_or(0, w.all[0], 24, mine), with = port.fetch_and(0, w.all[0], 32, ~mine);
    OK(without);
    OK(with);
    EXPECT_EQ(*without & mine, 0u);
    EXPECT_EQ(*with & mine, mine);
    // Swaps hand tokens round: every token that went in comes out exactly once or stays.
    auto taken = port.swap(0, w.all[0], 16, port.self() + 1);
    OK(taken);
    const auto swapped_out = where.gather(port.self(), *taken);
    const auto sums = where.gather(port.self(), sum);
    if (port.self() == 0) {
      const auto all = static_cast<word>(turns) * port.nodes();
      EXPECT_EQ(w.look(0), all * 3);
      EXPECT_EQ(w.look(8), all);
      EXPECT_EQ(w.look(24), everybody);
      EXPECT_EQ(w.look(32), 0u);
      EXPECT_EQ(std::accumulate(sums.begin(), sums.end(), word{0}), all * (all - 1) / 2 * 3) << "each old value was returned once";
      std::vector<word> tokens(swapped_out);
      tokens.push_back(w.look(16));
      std::sort(tokens.begin(), tokens.end());
      for (word i = 0; i <= port.nodes(); ++i) EXPECT_EQ(tokens[i], i);
    }
  });
}

TEST_P(port_contract, enqueued_words_arrive_once_and_in_each_senders_order) {
  const word turns = static_cast<word>(rounds(20000));
  run_on_nodes(GetParam(), [&](fabric& port, meeting& where) {
    auto q = port.make_queue();
    OK(q);
    const auto queues = where.gather(port.self(), *q);
    if (port.self() != 0 || port.nodes() == 1) {
      std::vector<word> batch;
      for (word i = 0; i < turns; ++i) {
        if (i % 100 < 50) {
          OK(port.enqueue(0, queues[0], word{port.self()} << 32 | i));
        } else {
          batch.push_back(word{port.self()} << 32 | i);
          if (i % 100 == 99 || i + 1 == turns) {
            OK(port.enqueue(0, queues[0], batch));
            batch.clear();
          }
        }
      }
    }
    if (port.self() == 0) {
      const node_id senders = std::max<node_id>(1, port.nodes() - 1);
      std::vector<word> next(port.nodes(), 0);
      word taken = 0, wrong = 0;
      OK(port.wait(
          [&] {
            drain(port, *q, [&](word value) {
              wrong += next[value >> 32]++ != (value & 0xffffffff);
              ++taken;
            });
            return taken == turns * senders;
          },
          20s));
      EXPECT_EQ(wrong, 0u);
      word spare;
      EXPECT_EQ(*port.dequeue(*q, {&spare, 1}), 0u) << "a word arrived twice";
    }
    where.barrier();
    OK(port.drop_queue(*q));
    EXPECT_EQ(port.drop_queue(*q).code(), errc::revoked);
  });
}

TEST_P(port_contract, a_queue_at_its_bound_tells_the_consumer_and_loses_nothing) {
  if (nodes() == 1) return;  // filling one's own queue past its bound without taking from it is waiting for oneself
  run_on_nodes(GetParam(), [&](fabric& port, meeting& where) {
    constexpr word words = 5000;
    int told = 0;
    for (const auto time_to_fill_up : {300ms, 3000ms}) {  // the second for a machine that is busy
      auto q = port.make_queue(1024);
      OK(q);
      const auto queues = where.gather(port.self(), *q);
      if (port.self() == 1)
        for (word i = 0; i < words; ++i) OK(port.enqueue(0, queues[0], i));
      if (port.self() == 0) {
        std::this_thread::sleep_for(time_to_fill_up);
        word expected = 0;
        OK(port.wait(
            [&] {
              word value;
              for (auto n = port.dequeue(*q, {&value, 1}); !n.ok() || *n == 1; n = port.dequeue(*q, {&value, 1})) {
                if (!n.ok()) {
                  EXPECT_EQ(n.code(), errc::too_large);
                  ++told;
                  continue;
                }
                EXPECT_EQ(value, expected);
                ++expected;
              }
              return expected == words;
            },
            20s));
      }
      told = where.gather(port.self(), told)[0];
      if (told > 0) break;
    }
    EXPECT_GE(told, 1);
  });
}

TEST_P(port_contract, messages_arrive_once_whole_and_in_order_on_each_lane) {
  const int turns = rounds(600);
  run_on_nodes(GetParam(), [&](fabric& port, meeting& where) {
    std::vector<word> next(port.nodes() * lanes, 0);
    std::atomic<int> arrived{0}, wrong{0};
    port.on(h_take, [&](const message& m) {
      auto& expected = next[m.source * lanes + static_cast<std::size_t>(m.lane)];
      const bool in_order = m.words[0] == expected++;
      const auto data = pattern(m.words[0] + m.source, m.payload.size());
      const bool whole = m.words.size() == 1 + m.words[0] % most_words && m.words.back() == m.words[0] && same(m.payload, data);
      if (!in_order || !whole) ++wrong;
      ++arrived;
    });
    where.barrier();
    leave_together at_the_end{where};
    const std::size_t sizes[] = {0, 1, 8, 55, 56, 57, 200, 1400, 4096, 30000, most_payload};
    base::random r(port.self());
    for (int i = 0; i < turns; ++i)
      for (node_id to = 0; to < port.nodes(); ++to)
        for (auto l : {lane::request, lane::reply}) {
          const auto n = static_cast<word>(i);
          const std::vector<word> words(1 + n % most_words, n);
          const std::size_t size = i % 16 == 0 ? sizes[r.below(std::size(sizes))] : sizes[r.below(6)];
          OK(port.send(to, l, h_take, words, pattern(n + port.self(), size)));
        }
    const int all = turns * static_cast<int>(port.nodes() * lanes);
    OK(port.wait([&] { return arrived == all; }, 30s));
    EXPECT_EQ(wrong, 0);
    EXPECT_GE(port.statistics().handled, static_cast<std::uint64_t>(all));
  });
}

// All nodes ask all others at once, with answers as large as they get: requests would fill every buffer if replies waited for them.
TEST_P(port_contract, replies_move_however_many_requests_there_are) {
  const int turns = rounds(200);
  run_on_nodes(GetParam(), [&](fabric& port, meeting& where) {
    std::atomic<int> answers{0}, refused{0};
    const auto large = pattern(5, most_payload);
    port.on(h_ask, [&](const message& m) {
      if (!m.at.send(m.source, lane::reply, h_answer, m.words, large).ok()) ++refused;
    });
    port.on(h_answer, [&](const message& m) {
      if (m.payload.size() == large.size()) ++answers;
    });
    where.barrier();
    leave_together at_the_end{where};
    for (int i = 0; i < turns; ++i)
      for (node_id to = 0; to < port.nodes(); ++to) OK(port.send(to, lane::request, h_ask, {}, bytes(large).first(1000)));
    OK(port.wait([&] { return answers == turns * static_cast<int>(port.nodes()); }, 30s));
    EXPECT_EQ(refused, 0);
  });
}

// Handlers may put and enqueue, which are requests themselves: nodes whose handlers do so must not wait for each other.
TEST_P(port_contract, handlers_of_all_nodes_may_put_and_enqueue_at_once) {
  const int turns = rounds(400);
  run_on_nodes(GetParam(), [&](fabric& port, meeting& where) {
    windows w(port, where, 4096);
    auto q = port.make_queue();
    OK(q);
    const auto queues = where.gather(port.self(), *q);
    std::atomic<int> refused{0};
    const std::vector<std::byte> block(2000);
    port.on(h_ask, [&](const message& m) {
      for (int i = 0; i < 3; ++i) refused += !m.at.put(m.source, w.all[m.source], 8, block).ok();
      refused += !m.at.enqueue(m.source, queues[m.source], m.words[0]).ok();
    });
    where.barrier();
    leave_together at_the_end{where};
    for (int i = 0; i < turns; ++i)
      for (node_id to = 0; to < port.nodes(); ++to) {
        const word words[] = {static_cast<word>(i)};
        OK(port.send(to, lane::request, h_ask, words, block));
      }
    int taken = 0;
    OK(port.wait([&] { return drain(port, *q, [&](word) { ++taken; }), taken == turns * static_cast<int>(port.nodes()); }, 30s));
    EXPECT_EQ(refused, 0);
  });
}

TEST_P(port_contract, a_handler_that_would_wait_is_refused) {
  run_on_nodes(GetParam(), [&](fabric& port, meeting& where) {
    windows w(port, where, 4096);
    std::atomic<int> handled{0};
    port.on(h_probe, [&](const message& m) {
      auto& p = m.at;
      const node_id other = (p.self() + 1) % p.nodes();
      EXPECT_EQ(p.send(m.source, lane::request, h_take, {}).code(), errc::would_block);
      EXPECT_EQ(p.wait([] { return false; }, 1ms).code(), errc::would_block);
      if (other != p.self() && !p.can().one_sided) {
        std::byte b;
        EXPECT_EQ(p.get(other, w.all[other], 0, {&b, 1}).code(), errc::would_block);
        EXPECT_EQ(p.fetch_add(other, w.all[other], 0, 1).code(), errc::would_block);
        EXPECT_EQ(p.fence(other).code(), errc::would_block);
      }
      ++handled;
    });
    where.barrier();
    leave_together at_the_end{where};
    const node_id to = (port.self() + 1) % port.nodes();
    OK(port.send(to, lane::request, h_probe, {}));
    OK(port.wait([&] { return handled == 1; }, 20s));
  });
}

TEST_P(port_contract, multicast_reaches_everybody) {
  run_on_nodes(GetParam(), [&](fabric& port, meeting& where) {
    windows w(port, where, 4096 * port.nodes());
    std::atomic<int> heard{0};
    port.on(h_take, [&](const message&) { ++heard; });
    where.barrier();
    leave_together at_the_end{where};
    std::vector<window_at> targets;
    std::vector<node_id> everybody;
    for (node_id n = 0; n < port.nodes(); ++n) {
      targets.push_back({n, w.all[n]});
      everybody.push_back(n);
    }
    const word mark = port.self() + 100;
    OK(port.multicast_put(targets, port.self() * 4096, bytes_of(mark)));
    OK(port.multicast_send(everybody, lane::request, h_take, {}));
    OK(port.wait([&] { return heard == static_cast<int>(port.nodes()); }, 20s));
    for (node_id n = 0; n < port.nodes(); ++n) EXPECT_EQ(w.look(n * 4096), n + 100u);
  });
}

TEST_P(port_contract, rights_bounds_and_capabilities_are_enforced_and_nothing_is_written) {
  run_on_nodes(GetParam(), [&](fabric& port, meeting& where) {
    windows readable(port, where, 4096, rights::read), writable(port, where, 4096, rights::write);
    const node_id to = (port.self() + 1) % port.nodes();
    const word x = 42;
    std::byte b[8];
    auto refused = [&](status s, errc why) {  // at once, or at the fence
      if (s.ok()) s = port.fence(to);
      ASSERT_FALSE(s.ok());
      EXPECT_EQ(s.code(), why) << s.sentence();
    };
    refused(port.put(to, readable.all[to], 0, bytes_of(x)), errc::no_right);
    refused(port.get(to, writable.all[to], 0, b), errc::no_right);
    EXPECT_EQ(port.fetch_add(to, writable.all[to], 0, 1).code(), errc::no_right);
    refused(port.put(to, writable.all[to], 4089, bytes_of(x)), errc::out_of_bounds);
    refused(port.put(to, writable.all[to], ~std::uint64_t{0} - 3, bytes_of(x)), errc::out_of_bounds);
    refused(port.get(to, readable.all[to], 4090, b), errc::out_of_bounds);
    window forged = readable.all[to];
    forged.allowed = rights::all;  // a liar's rights and size are not believed
    forged.size = 1 << 20;
    refused(port.put(to, forged, 0, bytes_of(x)), errc::no_right);
    refused(port.get(to, forged, 8192, b), errc::out_of_bounds);
    forged = writable.all[to];
    forged.size = 1 << 20;
    const run outside[] = {{8192, bytes_of(x)}};
    refused(port.put_runs(to, forged, outside), errc::out_of_bounds);
    forged = writable.all[to];
    forged.capability ^= 1;
    refused(port.put(to, forged, 0, bytes_of(x)), errc::revoked);
    refused(port.put(port.nodes(), writable.all[to], 0, bytes_of(x)), errc::invalid_argument);
    queue no_queue{3, 0, 12345};
    refused(port.enqueue(to, no_queue, 1), errc::revoked);
    OK(port.fence(to));  // a failure is told once
    where.barrier();
    for (std::size_t i = 0; i < 4096; ++i) ASSERT_EQ(readable.mine.base[i], std::byte{0});
    for (std::size_t i = 0; i < 4096; ++i) ASSERT_EQ(writable.mine.base[i], std::byte{0});
  });
}

TEST_P(port_contract, a_revoked_window_takes_whole_puts_or_none) {
  run_on_nodes(GetParam(), [&](fabric& port, meeting& where) {
    constexpr std::size_t size = 4096;
    windows w(port, where, size);
    const node_id to = (port.self() + 1) % port.nodes();
    std::vector<std::byte> data(size);
    std::atomic<bool> refused{false};
    std::thread revoker([&] {
      std::this_thread::sleep_for(20ms);
      auto revoked = port.revoke(w.all[port.self()]);
      EXPECT_TRUE(revoked.ok());
    });
    const auto until = std::chrono::steady_clock::now() + 15s;
    for (int i = 1; !refused && std::chrono::steady_clock::now() < until; ++i) {
      std::fill(data.begin(), data.end(), static_cast<std::byte>(i));
      auto s = port.put(to, w.all[to], 0, data);
      if (s.ok() && i % 8 == 0) s = port.fence(to);
      if (!s.ok()) {
        EXPECT_EQ(s.code(), errc::revoked) << s.sentence();
        refused = true;
      }
    }
    EXPECT_TRUE(refused);
    revoker.join();
    const auto after = std::vector<std::byte>(w.mine.base, w.mine.base + size);
    EXPECT_TRUE(std::all_of(after.begin(), after.end(), [&](std::byte b) { return b == after[0]; })) << "half a put";
    where.barrier();
    EXPECT_FALSE(port.revoke(w.all[port.self()]).ok());
    std::this_thread::sleep_for(10ms);
    EXPECT_TRUE(std::equal(after.begin(), after.end(), w.mine.base)) << "written after the revocation";
  });
}

TEST_P(port_contract, mapped_windows_are_loads_and_stores) {
  run_on_nodes(GetParam(), [&](fabric& port, meeting& where) {
    windows w(port, where, 4096);
    const node_id to = (port.self() + 1) % port.nodes();
    auto* there = reinterpret_cast<word*>(port.mapped(to, w.all[to]));
    EXPECT_EQ(there != nullptr, port.can().mapped || to == port.self());
    if (there) {
      std::atomic_ref(*there).store(port.self() + 7, std::memory_order_release);
      OK(port.nudge(to));
    } else {
      OK(port.put(to, w.all[to], 0, bytes_of(word{port.self() + 7})));
    }
    const node_id from = (port.self() + port.nodes() - 1) % port.nodes();
    OK(port.wait([&] { return w.look(0) == from + 7u; }, 20s));
  });
}

TEST_P(port_contract, many_threads_of_a_node_may_use_the_port_at_once) {
  const int turns = rounds(200);
  run_on_nodes(GetParam(), [&](fabric& port, meeting& where) {
    constexpr std::size_t threads = 4;
    windows w(port, where, 65536 * threads);
    std::atomic<int> answers{0}, failures{0};
    port.on(h_ask, [&](const message& m) { m.at.send(m.source, lane::reply, h_answer, m.words).ignore(); });
    port.on(h_answer, [&](const message&) { ++answers; });
    where.barrier();
    leave_together at_the_end{where};
    std::vector<std::thread> pool;
    for (std::size_t t = 0; t < threads; ++t)
      pool.emplace_back([&, t] {
        const node_id to = static_cast<node_id>((port.self() + 1 + t) % port.nodes());
        for (int i = 0; i < turns; ++i) {
          const auto value = static_cast<word>(i) << 8 | t;
          // Every node's thread t uses its own part of the target's part t.
          const std::uint64_t at = t * 65536 + port.self() * 64;
          word back = 0;
          bool fine = port.put(to, w.all[to], at, bytes_of(value)).ok() &&
                      port.get(to, w.all[to], at, std::as_writable_bytes(std::span(&back, 1))).ok() && back == value;
          fine &= port.fetch_add(to, w.all[to], t * 65536 + 65528, 1).ok();
          fine &= port.send(to, lane::request, h_ask, {}).ok();
          if (!fine) ++failures;
        }
      });
    for (auto& t : pool) t.join();
    OK(port.wait([&] { return answers == turns * static_cast<int>(threads); }, 20s));
    EXPECT_EQ(failures, 0);
    where.barrier();
    for (std::size_t t = 0; t < threads; ++t) EXPECT_EQ(w.look(t * 65536 + 65528), static_cast<word>(turns));
  });
}

TEST_P(port_contract, a_node_that_computes_still_serves_the_others) {
  if (nodes() == 1) return;
  run_on_nodes(GetParam(), [&](fabric& port, meeting& where) {
    windows w(port, where, 1 << 16);
    std::atomic<int> answered{0};
    port.on(h_ask, [&](const message& m) { m.at.send(m.source, lane::reply, h_answer, {}).ignore(); });
    port.on(h_answer, [&](const message&) { ++answered; });
    where.word(0) = 0;
    where.barrier();
    leave_together at_the_end{where};
    if (port.self() == 0) {
      while (where.word(0) + 1 < port.nodes()) {  // computes, without a call into weft, until the others are done
      }
    } else {
      for (int i = 0; i < 20; ++i) {
        std::byte page[4096];
        OK(port.get(0, w.all[0], 0, page));
        OK(port.fetch_add(0, w.all[0], 8192, 1));
        OK(port.send(0, lane::request, h_ask, {}));
      }
      OK(port.wait([&] { return answered == 20; }, 20s));
      ++where.word(0);
    }
  });
}

TEST_P(port_contract, a_node_whose_handler_takes_its_time_is_not_taken_for_dead) {
  if (nodes() != 2 || impaired() || !GetParam().narrowed.empty()) return;  // what they have in common is tried once
  if (GetParam().fabric == "udp") return;  // there the driver itself acknowledges: its handlers must be quicker than that
  run_on_nodes(GetParam(), [&](fabric& port, meeting& where) {
    windows w(port, where, 4096);
    std::atomic<bool> answered{false};
    port.on(h_ask, [&](const message& m) {
      std::this_thread::sleep_for(dead_after * 3 / 2);
      m.at.send(m.source, lane::reply, h_answer, {}).ignore();
    });
    port.on(h_answer, [&](const message&) { answered = true; });
    where.barrier();
    leave_together at_the_end{where};
    if (port.self() == 0) {
      OK(port.send(1, lane::request, h_ask, {}));
      OK(port.wait([&] { return answered.load() || port.failed(1); }, 20s));
      OK(port.fence(1));
    }
  });
}

TEST_P(port_contract, a_wait_ends_at_its_deadline_and_by_a_nudge) {
  run_on_nodes(GetParam(), [&](fabric& port, meeting& where) {
    const auto start = std::chrono::steady_clock::now();
    auto waited = port.wait([] { return false; }, 50ms);
    EXPECT_EQ(waited.code(), errc::timed_out);
    const auto took = std::chrono::steady_clock::now() - start;
    EXPECT_GE(took, 50ms);
    EXPECT_LT(took, 5s);
    // The condition is about memory that no operation of the port touches; the nudge makes the sleeper look.
    where.word(1) = 0;
    where.barrier();
    const node_id to = (port.self() + 1) % port.nodes();
    std::thread late([&] {
      std::this_thread::sleep_for(100ms);
      ++where.word(1);
      EXPECT_TRUE(port.nudge(to).ok());
    });
    OK(port.wait([&] { return where.word(1) == port.nodes(); }, 20s));
    late.join();
  });
}

TEST_P(port_contract, the_nodes_left_hear_of_a_node_that_died) {
  if (nodes() == 1) return;
  run_on_nodes(GetParam(),
               [&](fabric& port, meeting& where) {
                 windows w(port, where, 4096);
                 const node_id victim = port.nodes() - 1;
                 port.on(h_ask, [](const message&) {});  // never answers
                 where.barrier();
                 if (port.self() == victim) {
                   where.leave();
                   die(GetParam(), port);
                 }
                 const auto start = std::chrono::steady_clock::now();
                 status s;
                 while (s.ok() && std::chrono::steady_clock::now() - start < 15s) {
                   s = port.put(victim, w.all[victim], 0, bytes_of(word{1}));
                   if (s.ok()) s = port.fence(victim);
                   if (s.ok()) s = port.send(victim, lane::request, h_ask, {});
                   if (s.ok()) port.wait([&] { return port.failed(victim); }, 100ms).ignore();
                 }
                 ASSERT_FALSE(s.ok());
                 EXPECT_EQ(s.code(), errc::node_failed) << s.sentence();
                 EXPECT_NE(s.sentence().find("node " + std::to_string(victim)), std::string::npos) << s.sentence();
                 EXPECT_LT(std::chrono::steady_clock::now() - start, 6s);
                 // The others go on with each other.
                 for (node_id n = 0; n < victim; ++n) OK(port.put(n, w.all[n], 8, bytes_of(word{2})));
                 for (node_id n = 0; n < victim; ++n) OK(port.fence(n));
               },
               {GetParam().nodes - 1});
}

TEST_P(port_contract, nonsense_is_refused_with_a_sentence) {
  run_on_nodes(GetParam(), [&](fabric& port, meeting&) {
    const std::vector<word> too_many(most_words + 1);
    const std::vector<std::byte> too_large(most_payload + 1);
    EXPECT_EQ(port.send(0, lane::request, h_take, too_many).code(), errc::too_large);
    EXPECT_EQ(port.send(0, lane::request, h_take, {}, too_large).code(), errc::too_large);
    EXPECT_EQ(port.send(port.nodes(), lane::request, h_take, {}).code(), errc::invalid_argument);
    EXPECT_EQ(port.send(0, lane::request, 60000, {}).code(), errc::invalid_argument);
    EXPECT_EQ(port.fence(port.nodes() + 5).code(), errc::invalid_argument);
    EXPECT_FALSE(port.allocate(0).ok());
    EXPECT_FALSE(port.expose({}, rights::all).ok());
    EXPECT_FALSE(port.make_queue(0).ok());
    EXPECT_FALSE(port.revoke(window{}).ok());
    EXPECT_EQ(port.mapped(port.nodes(), window{}), nullptr);
    EXPECT_EQ(port.mapped(0, window{17, rights::all, 4096, 99}), nullptr);
  });
}

INSTANTIATE_TEST_SUITE_P(fabrics, port_contract, ::testing::ValuesIn(fabrics_under_test()),
                         [](const auto& i) { return i.param.label(); });

}  // namespace
}  // namespace weft::test
