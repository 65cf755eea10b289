// What weft/port.h promises, on the simulated port: in every style, under many schedules.
#include <array>
#include <cstring>
#include <functional>

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "dst/coherence/choosers.h"
#include "dst/coherence/seeded_port.h"

namespace dst {
namespace {

using weft::lane;
using weft::word;
using weft::base::bytes_of;

constexpr node_id nodes = 3;
constexpr word rounds = 20;
constexpr weft::handler_id h_take = weft::first_user_handler, h_ask = h_take + 1, h_answer = h_take + 2;

struct world {
  random_chooser by;
  scheduler time;
  sim_network network;
  std::array<weft::memory, nodes> memory;
  std::array<weft::window, nodes> windows;
  std::array<weft::queue, nodes> queues;

  world(network_style style, std::uint64_t seed)
      : by(seed),
        time({.nodes = nodes}, by),
        network({nodes, style, seed % 4 == 0 ? std::size_t{1} : std::size_t{64}, seed}, time) {
    for (node_id n = 0; n < nodes; ++n) {
      memory[n] = network.port(n).allocate(4096).or_throw();
      windows[n] = network.port(n).expose(memory[n], weft::rights::all).or_throw();
      queues[n] = network.port(n).make_queue(1 << 12).or_throw();
    }
  }
  word& slot(node_id at, std::size_t i) { return reinterpret_cast<word*>(memory[at].base)[i]; }

  void run(const std::function<void(weft::port&)>& body) {
    for (node_id n = 0; n < nodes; ++n) time.add_thread(n, "n" + std::to_string(n), [this, n, &body] { body(network.port(n)); });
    time.run();
    ASSERT_FALSE(time.failure()) << *time.failure();
  }
};

class sim_port_contract : public ::testing::TestWithParam<network_style> {
 protected:
  static void each(const std::function<void(world&)>& body) {
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
      world w(GetParam(), seed);
      body(w);
      if (HasFailure()) {
        ADD_FAILURE() << "with seed " << seed;
        break;
      }
    }
  }
};

TEST_P(sim_port_contract, a_put_is_seen_before_what_was_issued_after_it) {
  each([](world& w) {
    std::array<word, nodes> messages{}, words{};
    for (node_id n = 0; n < nodes; ++n)
      w.network.port(n).on(h_take, [&w, &messages, n](const weft::message& m) {
        EXPECT_GE(w.slot(n, m.source), m.words[0]);
        ++messages[n];
      });
    w.run([&](weft::port& p) {
      const node_id to = (p.self() + 1) % nodes;
      for (word i = 1; i <= rounds; ++i) {
        EXPECT_TRUE(p.put(to, w.windows[to], p.self() * sizeof(word), bytes_of(i)));
        if (i % 3 == 0) {
          EXPECT_TRUE(p.send(to, lane::request, h_take, std::array{i}));
        } else if (i % 3 == 1) {
          EXPECT_TRUE(p.enqueue(to, w.queues[to], i << 8 | p.self()));
        } else {
          EXPECT_EQ(*p.swap(to, w.windows[to], (8 + p.self()) * sizeof(word), i), i < 3 ? 0 : i - 3);
          EXPECT_GE(w.slot(to, p.self()), i);
        }
      }
      EXPECT_TRUE(p.wait(
          [&] {
            std::array<word, 4> some;
            while (const auto got = *p.dequeue(w.queues[p.self()], some))
              for (std::size_t i = 0; i < got; ++i) {
                EXPECT_GE(w.slot(p.self(), some[i] & 0xff), some[i] >> 8);
                EXPECT_EQ(some[i] >> 8, 1 + 3 * words[p.self()]++);
              }
            return words[p.self()] == (rounds + 2) / 3 && messages[p.self()] == rounds / 3;
          },
          std::chrono::hours(1)));
    });
  });
}

TEST_P(sim_port_contract, a_fence_waits_for_what_went_before_and_a_get_finds_it) {
  each([](world& w) {
    w.run([&](weft::port& p) {
      for (word i = 1; i <= rounds; ++i) {
        const auto to = static_cast<node_id>((p.self() + i) % nodes);
        const std::array<word, 2> values{i, i * i};
        const std::array runs{weft::run{(16 + p.self() * 2) * sizeof(word), bytes_of(values[0])},
                              weft::run{(17 + p.self() * 2) * sizeof(word), bytes_of(values[1])}};
        EXPECT_TRUE(p.put_runs(to, w.windows[to], runs));
        if (i % 2) {
          EXPECT_TRUE(p.fence(to));
          EXPECT_EQ(w.slot(to, 16 + p.self() * 2), i);
        }
        std::array<word, 2> found{};
        EXPECT_TRUE(p.get(to, w.windows[to], (16 + p.self() * 2) * sizeof(word), std::as_writable_bytes(std::span(found))));
        EXPECT_EQ(found, values);
      }
    });
  });
}

TEST_P(sim_port_contract, atomic_operations_of_all_nodes_add_up) {
  each([](world& w) {
    w.run([&](weft::port& p) {
      for (word i = 0; i < rounds; ++i) EXPECT_TRUE(p.fetch_add(0, w.windows[0], 0, 1).ok());
    });
    EXPECT_EQ(w.slot(0, 0), nodes * rounds);
  });
}

TEST_P(sim_port_contract, a_handler_answers_and_does_not_wait) {
  each([](world& w) {
    std::array<word, nodes> answers{};
    for (node_id n = 0; n < nodes; ++n) {
      w.network.port(n).on(h_ask, [&w](const weft::message& m) {
        EXPECT_EQ(m.at.wait([] { return false; }, std::chrono::seconds(1)).code(), weft::errc::would_block);
        EXPECT_EQ(m.at.send(m.source, lane::request, h_ask, m.words).code(), weft::errc::would_block);
        if (!m.at.can().mapped) {
          EXPECT_EQ(m.at.fetch_add(m.source, w.windows[m.source], 0, 1).code(), weft::errc::would_block);
        }
        EXPECT_TRUE(m.at.send(m.source, lane::reply, h_answer, m.words));
      });
      w.network.port(n).on(h_answer, [&answers, n](const weft::message& m) { EXPECT_EQ(m.words[0], answers[n]++); });
    }
    w.run([&](weft::port& p) {
      const node_id to = (p.self() + 1) % nodes;
      for (word i = 0; i < rounds; ++i) EXPECT_TRUE(p.send(to, lane::request, h_ask, std::array{i}));
      EXPECT_TRUE(p.wait([&] { return answers[p.self()] == rounds; }, std::chrono::hours(1)));
    });
  });
}

TEST(sim_port, a_wait_that_nothing_ends_is_noticed) {
  random_chooser by(1);
  scheduler time({.nodes = 1}, by);
  sim_network network({1, network_style::messages, 64, 1}, time);
  time.add_thread(0, "n0", [&] { (void)network.port(0).wait([] { return false; }, std::chrono::hours(1)); });
  time.run();
  ASSERT_TRUE(time.failure());
  EXPECT_NE(time.failure()->find("nobody can go on"), std::string::npos) << *time.failure();
}

INSTANTIATE_TEST_SUITE_P(all, sim_port_contract,
                         ::testing::Values(network_style::messages, network_style::one_sided, network_style::mapped,
                                           network_style::datagrams),
                         [](const auto& of) { return "style_" + std::to_string(static_cast<int>(of.param)); });

}  // namespace
}  // namespace dst
