// Two nodes take copies of a page at once, and its home writes to it soon after: it must know that there are copies before either is used.
#include <algorithm>
#include <array>
#include <cstring>

#include <gtest/gtest.h>

#include "dst/coherence/choosers.h"
#include "dst/coherence/cluster.h"

namespace dst {
namespace {

class two_readers : public testing::TestWithParam<protocol_under_test> {};

// Every page has a cell that node 0 writes and node 2 reads, under a mutex; node 1 reads another part of the page, and is in nobody's way.
void copy_at_once(const char* protocol, std::uint64_t seed) {
  constexpr std::uint32_t pages = 30, rounds = 3;
  cluster_options o;
  o.protocol = protocol;
  o.nodes = 3;
  o.late = 0.2;
  o.seed = seed;
  random_chooser by(seed);
  cluster c(o, by);
  std::uint32_t written = 0;  // what the cell of the current page holds
  std::array<cluster::meeting, 2 * pages> meetings;
  const auto section = [&](cluster::node& n, std::byte* cell) {
    n.space().lock(c.object(0), weft::space::for_ever);
    n.access(cell, sizeof written, n.id() == 0, [&](std::byte* here, std::size_t, std::size_t size) {
      if (n.id() == 0) return void(std::memcpy(here, &++written, size));
      EXPECT_EQ(std::memcmp(here, &written, size), 0) << protocol << ", seed " << seed;
    });
    n.space().unlock(c.object(0));
    c.time().progress();
  };
  c.run([&](cluster::node& n) {
    auto* base = static_cast<std::byte*>(
        n.space().allocate_together(pages * weft::dsm::page_bytes, weft::dsm::page_bytes, weft::placement::on(0)));
    n.space().barrier();
    for (std::uint32_t p = 0; p < pages; ++p) {
      std::byte* const page = base + p * weft::dsm::page_bytes;
      if (n.id() == 0) {
        written = 0;
        section(n, page);
      }
      c.meet(meetings[2 * p], 3, "waits for the others");
      if (n.id() == 1)
        n.access(page + 256, 4, false, [](std::byte*, std::size_t, std::size_t) {});
      else
        for (std::uint32_t i = 0; i < rounds; ++i) section(n, page);
      c.meet(meetings[2 * p + 1], 3, "waits for the others");
    }
  });
  ASSERT_FALSE(c.time().failure()) << protocol << ", seed " << seed << ": " << *c.time().failure();
}

TEST_P(two_readers, are_told_of_what_their_home_writes) {
  constexpr std::uint64_t seeds = std::min(WEFT_SEEDS / 2, 100);  // a sanitizer takes long for each
  for (std::uint64_t seed = 1; seed <= seeds && !HasFailure(); ++seed) copy_at_once(GetParam().name, seed);
}

INSTANTIATE_TEST_SUITE_P(protocols, two_readers, testing::ValuesIn(protocols), [](const auto& of) { return test_name(of.param); });

}  // namespace
}  // namespace dst
