// Two threads of a node acquire at once: what one of them is about to drop, the other must not read.
#include <algorithm>
#include <cstring>

#include <gtest/gtest.h>

#include "dst/coherence/choosers.h"
#include "dst/coherence/cluster.h"

namespace dst {
namespace {

class second_thread : public testing::TestWithParam<protocol_under_test> {};

// Node 0 writes two cells, each under a mutex of its own. On node 1 each thread reads one of them: the notices of both come with either
// mutex, and the threads are held up where pages change.
void run(const char* protocol, std::uint64_t seed) {
  constexpr std::uint32_t rounds = 20;
  cluster_options o;
  o.protocol = protocol;
  o.naps = 0.5;
  o.seed = seed;
  random_chooser by(seed);
  cluster c(o, by);
  std::uint32_t written[2] = {};  // what is really there
  const auto section = [&](cluster::node& n, std::byte* base, std::uint32_t which, bool write) {
    n.space().lock(c.object(which), weft::space::for_ever);
    n.access(base + which * weft::dsm::page_bytes, sizeof written[0], write, [&](std::byte* here, std::size_t, std::size_t size) {
      if (write) return void(std::memcpy(here, &++written[which], size));
      EXPECT_EQ(std::memcmp(here, &written[which], size), 0) << protocol << ", seed " << seed;
    });
    n.space().unlock(c.object(which));
    c.time().progress();
  };
  c.run([&](cluster::node& n) {
    auto* base = static_cast<std::byte*>(
        n.space().allocate_together(2 * weft::dsm::page_bytes, weft::dsm::page_bytes, weft::placement::on(0)));
    n.space().barrier();
    const auto all = [&n, &section, base](std::uint32_t first, std::uint32_t last, bool write) {
      for (std::uint32_t i = 0; i < rounds; ++i)
        for (std::uint32_t which = first; which < last; ++which) section(n, base, which, write);
    };
    if (n.id() == 0) return all(0, 2, true);
    cluster::meeting end;
    c.start(n, "n1.1", [&] {
      all(1, 2, false);
      c.meet(end, 2, "waits for the other thread");
    });
    all(0, 1, false);
    c.meet(end, 2, "waits for the other thread");
  });
  ASSERT_FALSE(c.time().failure()) << protocol << ", seed " << seed << ": " << *c.time().failure();
}

TEST_P(second_thread, reads_nothing_that_the_first_is_about_to_drop) {
  for (std::uint64_t seed = 1; seed <= 30 && !HasFailure(); ++seed) run(GetParam().name, seed);
}

INSTANTIATE_TEST_SUITE_P(protocols, second_thread, testing::ValuesIn(protocols),
                         [](const auto& of) { return test_name(of.param); });

}  // namespace
}  // namespace dst
