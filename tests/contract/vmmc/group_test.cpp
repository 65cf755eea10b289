// Multicast groups: eager updates, and copies that agree.
#include "contract/vmmc/fixture.h"

namespace weft::test {
namespace {

class vmmc_group : public vmmc_contract {};

TEST_P(vmmc_group, concurrent_writers_leave_every_copy_the_same) {
  const int turns = rounds(400);
  run_on_nodes(GetParam(), [&](fabric& port, meeting& where) {
    node_under_test n(port, where);
    constexpr std::size_t size = 2048;
    std::vector<node_id> everybody;
    for (node_id i = 0; i < port.nodes(); ++i) everybody.push_back((i + 1) % port.nodes());  // node 1 owns it
    auto group = n.vmmc.join("shared", everybody, size);
    OK(group);
    leave_together at_the_end{where};
    EXPECT_EQ(group->owner(), everybody.front());
    base::random r(port.self() + 9);
    for (int i = 0; i < turns; ++i) {
      const std::size_t at = r.below(size - 64), length = 1 + r.below(64);
      OK(group->write(at, pattern(r.next(), length)));
    }
    OK(group->fence());
    where.barrier();  // everybody's writes are everywhere
    std::uint64_t hash = 14695981039346656037u;
    for (const std::byte b : group->memory()) hash = (hash ^ static_cast<std::uint64_t>(b)) * 1099511628211u;
    for (const auto theirs : where.gather(port.self(), hash)) EXPECT_EQ(theirs, hash);
    EXPECT_FALSE(std::all_of(group->memory().begin(), group->memory().end(), [](std::byte b) { return b == std::byte{0}; }));
  });
}

TEST_P(vmmc_group, writes_of_one_member_are_seen_in_its_order_and_large_ones_arrive) {
  run_on_nodes(GetParam(), [&](fabric& port, meeting& where) {
    node_under_test n(port, where);
    constexpr std::size_t size = 300000;
    std::vector<node_id> everybody;
    for (node_id i = 0; i < port.nodes(); ++i) everybody.push_back(i);
    auto group = n.vmmc.join("large", everybody, size);
    OK(group);
    leave_together at_the_end{where};
    const auto data = pattern(1, size - 8);
    if (port.self() == port.nodes() - 1) {
      OK(group->write(8, data));
      OK(group->write(0, bytes_of(word{1})));  // seen after all of the block
    }
    const auto* flag = reinterpret_cast<const word*>(group->memory().data());
    OK(port.wait([&] { return std::atomic_ref(*const_cast<word*>(flag)).load() == 1; }, 20s));
    EXPECT_TRUE(std::equal(data.begin(), data.end(), group->memory().begin() + 8));
    EXPECT_EQ(group->write(size - 1, bytes_of(word{1})).code(), errc::out_of_bounds);
    OK(group->fence());
  });
}

TEST_P(vmmc_group, only_members_join_and_write) {
  if (nodes() < 2) return;
  run_on_nodes(GetParam(), [&](fabric& port, meeting& where) {
    node_under_test n(port, where);
    const node_id pair[] = {0, 1};
    auto group = n.vmmc.join("pair", pair, 4096);
    leave_together at_the_end{where};
    EXPECT_EQ(group.ok(), port.self() < 2);
    if (group.ok()) {
      OK(group->write(8 * port.self(), bytes_of(word{port.self() + 5})));
      OK(group->fence());
    } else {
      EXPECT_EQ(group.code(), errc::invalid_argument);
      EXPECT_EQ(n.vmmc.import_memory(0, "group pair").code(), errc::no_right);
    }
    where.barrier();
    if (!group.ok()) return;
    EXPECT_EQ(reinterpret_cast<const word*>(group->memory().data())[1], 6u);
  });
}

ON_EVERY_FABRIC(vmmc_group);

}  // namespace
}  // namespace weft::test
