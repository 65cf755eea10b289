// Reductions one after another, by nodes that run ahead of each other: everybody has everybody's value of this one, not of the last.
#include <array>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "dst/coherence/choosers.h"
#include "dst/coherence/cluster.h"

namespace dst {
namespace {

class gathering : public testing::TestWithParam<protocol_under_test> {};

using value = std::array<std::uint64_t, 3>;

void run(const char* protocol, weft::node_id nodes, std::uint64_t seed) {
  cluster_options o;
  o.protocol = protocol;
  o.nodes = nodes;
  o.seed = seed;
  random_chooser by(seed);
  cluster c(o, by);
  c.run([&](cluster::node& n) {
    std::vector<value> all(nodes);
    for (std::uint64_t turn = 0; turn < 12; ++turn) {
      if (turn % 5 == 3) n.space().barrier();
      const value mine{turn, n.id(), seed};
      n.space().gather(std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(all)));
      for (std::uint64_t from = 0; from < nodes; ++from)
        EXPECT_EQ(all[from], (value{turn, from, seed}))
            << protocol << ", " << nodes << " nodes, seed " << seed << ", node " << n.id();
      c.time().progress();
    }
  });
  ASSERT_FALSE(c.time().failure()) << protocol << ", seed " << seed << ": " << *c.time().failure();
}

TEST_P(gathering, brings_everybody_the_values_of_all) {
  for (weft::node_id nodes = 1; nodes <= 9; ++nodes)
    for (std::uint64_t seed = 1; seed <= 5 && !HasFailure(); ++seed) run(GetParam().name, nodes, seed);
}

INSTANTIATE_TEST_SUITE_P(protocols, gathering, testing::ValuesIn(protocols), [](const auto& of) { return test_name(of.param); });

}  // namespace
}  // namespace dst
