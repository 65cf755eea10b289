// Rights, bounds and capabilities: one by one, then by long random sequences of which half are attempts at what is not allowed.
#include "contract/vmmc/fixture.h"

namespace weft::test {
namespace {

class vmmc_protection : public vmmc_contract {};

// A refusal comes at once or at the fence; which it is depends on the fabric.
template <typename Fence>
void expect_refused(status s, errc why, Fence&& fence) {
  for (int i = 0; s.ok() && i < 100; ++i) s = fence();  // a refusal by message may come a moment after the fence
  ASSERT_FALSE(s.ok());
  EXPECT_EQ(s.code(), why) << s.sentence();
}

TEST_P(vmmc_protection, who_is_not_allowed_gets_no_import) {
  run_on_nodes(GetParam(), [&](fabric& port, meeting& where) {
    node_under_test n(port, where);
    const node_id friendly = n.next();
    const auto mine = n.give("for one", n.allocate(4096), {.nodes = {friendly}});
    const auto readable = n.give("readable", n.allocate(4096), {.allowed = rights::read});
    leave_together at_the_end{where};
    for (node_id other = 0; other < port.nodes(); ++other) {
      auto got = n.vmmc.import_memory(other, "for one");
      const bool allowed = (other + 1) % port.nodes() == port.self();
      EXPECT_EQ(got.ok(), allowed);
      EXPECT_TRUE(allowed || got.code() == errc::no_right);
      auto wish = n.vmmc.import_memory(other, "readable", {.need = rights::write});
      EXPECT_EQ(wish.code(), errc::no_right) << wish.sentence();
    }
    EXPECT_EQ(n.vmmc.export_memory("readable", n.allocate(4096)).code(), errc::invalid_argument) << "the name is in use";
    EXPECT_EQ(n.vmmc.export_memory("", n.allocate(4096)).code(), errc::invalid_argument);
    EXPECT_EQ(n.vmmc.export_memory(std::string(300, 'x'), n.allocate(4096)).code(), errc::invalid_argument);
    EXPECT_EQ(n.vmmc.export_memory("x", {}).code(), errc::invalid_argument);
    std::byte plain[64];  // not what the shm fabric can show its peers
    EXPECT_TRUE(GetParam().fabric != "shm" || !n.vmmc.export_memory("x", {plain, 64, -1, 0}).ok());
    EXPECT_EQ(n.vmmc.export_memory("x", n.allocate(4096), {.nodes = {99}}).code(), errc::invalid_argument);
    EXPECT_EQ(n.vmmc.import_memory(99, "x").code(), errc::invalid_argument);
  });
}

TEST_P(vmmc_protection, each_importing_node_has_a_capability_of_its_own) {
  run_on_nodes(GetParam(), [&](fabric& port, meeting& where) {
    node_under_test n(port, where);
    const auto mine = n.give("buffer", n.allocate(4096));
    const auto first = n.take(0, "buffer"), again = n.take(0, "buffer");
    leave_together at_the_end{where};
    EXPECT_EQ(first.window(), again.window());
    const auto all = where.gather(port.self(), first.window().capability);
    for (node_id i = 0; i < port.nodes(); ++i)
      for (node_id j = 0; j < i; ++j) EXPECT_NE(all[i], all[j]);
  });
}

TEST_P(vmmc_protection, operations_without_the_right_or_out_of_bounds_write_nothing) {
  run_on_nodes(GetParam(), [&](fabric& port, meeting& where) {
    node_under_test n(port, where);
    const auto memory = n.allocate(4096), other = n.allocate(4096);
    const auto to_read = n.give("read", memory, {.allowed = rights::read});
    const auto to_write = n.give("write", other, {.allowed = rights::write});
    const auto r = n.take(n.next(), "read"), w = n.take(n.next(), "write");
    auto fence = [&] { return r.fence(); };
    const word x = 42;
    std::byte b[16];
    expect_refused(r.update_value(0, x), errc::no_right, fence);
    const run runs[] = {{0, bytes_of(x)}};
    expect_refused(r.update_scattered(runs), errc::no_right, fence);
    expect_refused(w.fetch(0, b), errc::no_right, fence);
    EXPECT_EQ(w.fetch_add(0, 1).code(), errc::no_right);
    EXPECT_EQ(w.swap(0, 1).code(), errc::no_right);
    EXPECT_EQ(w.compare_swap(0, 0, 1).code(), errc::no_right);
    EXPECT_EQ(r.fetch_and(0, 1).code(), errc::no_right);
    EXPECT_EQ(r.fetch_or(0, 1).code(), errc::no_right);
    expect_refused(w.update_and_notify(0, bytes_of(x)), errc::no_right, fence);
    expect_refused(w.update_value(4089, x), errc::out_of_bounds, fence);
    expect_refused(w.update_value(~std::uint64_t{0} - 3, x), errc::out_of_bounds, fence);
    expect_refused(r.fetch(4090, b), errc::out_of_bounds, fence);
    const run outside[] = {{0, bytes_of(x)}, {4092, bytes_of(x)}};
    expect_refused(w.update_scattered(outside), errc::out_of_bounds, fence);
    EXPECT_EQ(n.vmmc.bind(r, 0, 4096).code(), errc::no_right);
    EXPECT_EQ(n.vmmc.bind(w, 8, 4096).code(), errc::out_of_bounds);
    EXPECT_EQ(n.vmmc.bind(w, 4, 8).code(), errc::invalid_argument);
    auto forged = r.window();
    forged.allowed = rights::all;  // a liar's own copy is not believed
    forged.size = 1 << 20;
    expect_refused(port.put(n.next(), forged, 0, bytes_of(x)), errc::no_right, fence);
    expect_refused(port.get(n.next(), forged, 8192, b), errc::out_of_bounds, fence);
    forged = w.window();
    forged.capability ^= 1;
    expect_refused(port.put(n.next(), forged, 0, bytes_of(x)), errc::revoked, fence);
    forged = w.window();
    forged.id += 1;
    expect_refused(port.put(n.next(), forged, 0, bytes_of(x)), errc::revoked, fence);
    OK(w.fence());  // a failure is told once
    where.barrier();
    EXPECT_TRUE(std::all_of(memory.base, memory.base + 4096, [](std::byte v) { return v == std::byte{0}; }));
    EXPECT_TRUE(std::all_of(other.base, other.base + 4096, [](std::byte v) { return v == std::byte{0}; }));
    where.barrier();
  });
}

// What a node may do at another, and what it knows to be there. Each node has a part of each buffer to itself, so it can predict
// everything.
class random_attempts {
 public:
  random_attempts(node_under_test& n, int operations) : n_(n), random_(n.port.self() * 7919 + 17), operations_(operations) {
    for (const auto& [name, allowed] : kinds) {
      memories_.push_back(n.allocate(part * n.port.nodes()));
      exports_.push_back(n.give(name, memories_.back(), {.allowed = allowed}));
    }
    for (node_id node = 0; node < n.port.nodes(); ++node)
      for (const auto& [name, allowed] : kinds) targets_.push_back({n.take(node, name), std::vector<std::byte>(part)});
  }

  void run() {
    for (int i = 0; i < operations_ && !::testing::Test::HasFailure(); ++i) {
      if (i % 500 == 499) replace_temporary();
      attempt(targets_[random_.below(targets_.size())]);
    }
    settle();
  }

 private:
  static constexpr std::size_t part = 4096;
  static constexpr std::pair<const char*, rights> kinds[] = {{"all", rights::all},
                                                             {"r", rights::read},
                                                             {"w", rights::write},
                                                             {"rw", rights::read | rights::write},
                                                             {"a", rights::atomic | rights::read}};
  struct target {
    imported there;
    std::vector<std::byte> expected;
  };

  std::uint64_t mine() const { return n_.port.self() * part; }

  // One operation, good or bad. Of a bad one something is wrong that the destination must notice.
  void attempt(target& t) {
    const std::size_t size = random_.below(4) == 0 ? random_.below(part) : 8;
    std::uint64_t at = random_.below(part - size + 1);
    window w = t.there.window();
    errc why{};
    bool bad = random_.below(2) == 0;
    const bool outside = bad && random_.below(3) == 0;
    if (outside) {
      at = random_.below(2) == 0 ? part * n_.port.nodes() - mine() - size / 2 : ~std::uint64_t{0} - random_.below(64) - mine();
      w.size = ~std::uint64_t{0};
      why = errc::out_of_bounds;
    } else if (bad && !stale_.empty() && random_.below(2) == 0) {
      w = stale_[random_.below(stale_.size())];
      why = errc::revoked;
    } else if (bad) {
      w.capability ^= std::uint64_t{1} << random_.below(64);
      why = errc::revoked;
    }
    w.allowed = rights::all;  // believed by nobody
    switch (random_.below(4)) {
      case 0: return put(t, w, at, size, bad, why);
      case 1: return runs(t, w, at, size, bad, why);
      case 2: return get(t, w, at, size, bad, why);
      default: return add(t, w, outside ? at & ~std::uint64_t{7} : at / 8 * 8, bad, why, outside);
    }
  }

  void outcome(status s, const target& t, rights need, bool bad, errc why, bool at_once) {
    const bool right = allows(t.there.allowed(), need);
    if (!at_once && s.ok()) s = n_.port.fence(t.there.node());
    if (!bad && right) {
      EXPECT_TRUE(s.ok()) << s.sentence();
      return;
    }
    ASSERT_FALSE(s.ok()) << "allowed what is not";
    if (right || why == errc::revoked)
      EXPECT_EQ(s.code(), why) << s.sentence();
    else
      EXPECT_TRUE(s.code() == errc::no_right || s.code() == why) << s.sentence();
  }

  void put(target& t, const window& w, std::uint64_t at, std::size_t size, bool bad, errc why) {
    if (size == 0) return;
    const auto data = pattern(random_.next(), size);
    outcome(n_.port.put(t.there.node(), w, mine() + at, data), t, rights::write, bad, why, false);
    if (!bad && allows(t.there.allowed(), rights::write))
      std::copy(data.begin(), data.end(), t.expected.begin() + static_cast<std::ptrdiff_t>(at));
  }

  void runs(target& t, const window& w, std::uint64_t at, std::size_t size, bool bad, errc why) {
    if (size < 2) return;
    const auto data = pattern(random_.next(), size);
    const weft::run all[] = {{mine() + at, bytes(data).first(size / 2)}, {mine() + at + size / 2, bytes(data).subspan(size / 2)}};
    // The first run of a bad pair might lie inside and be performed, the second wrap round: then it is one.
    const weft::run one[] = {{mine() + at, data}};
    const bool outside = bad && why == errc::out_of_bounds;
    outcome(outside ? n_.port.put_runs(t.there.node(), w, one) : n_.port.put_runs(t.there.node(), w, all), t, rights::write, bad,
            why, false);
    if (!bad && allows(t.there.allowed(), rights::write))
      std::copy(data.begin(), data.end(), t.expected.begin() + static_cast<std::ptrdiff_t>(at));
  }

  void get(target& t, const window& w, std::uint64_t at, std::size_t size, bool bad, errc why) {
    if (size == 0) return;
    std::vector<std::byte> got(size);
    auto s = n_.port.get(t.there.node(), w, mine() + at, got);
    const bool fine = s.ok();
    outcome(std::move(s), t, rights::read, bad, why, true);
    if (!fine || bad) return;
    EXPECT_TRUE(same(got, bytes(t.expected).subspan(at, size)));
  }

  void add(target& t, const window& w, std::uint64_t at, bool bad, errc why, bool outside) {
    if (outside) at = part * n_.port.nodes() - mine();
    auto before = n_.port.fetch_add(t.there.node(), w, mine() + at, 3);
    const bool fine = before.ok();
    outcome(fine ? status() : before.failure(), t, rights::atomic, bad, why, true);
    if (!fine || bad) return;
    word expected;
    std::memcpy(&expected, t.expected.data() + at, sizeof expected);
    EXPECT_EQ(*before, expected);
    expected += 3;
    std::memcpy(t.expected.data() + at, &expected, sizeof expected);
  }

  // An export that comes and goes: its capabilities become stale.
  void replace_temporary() {
    auto temporary = n_.port.expose(memories_[0], rights::all);
    if (!temporary.ok()) return;
    OK(n_.port.revoke(*temporary));
    n_.where.word(8 + n_.port.self()) = temporary->capability;
    n_.where.word(16 + n_.port.self()) = temporary->id;
    const node_id other = static_cast<node_id>(random_.below(n_.port.nodes()));
    const window old{static_cast<std::uint32_t>(n_.where.word(16 + other).load()), rights::all, part * n_.port.nodes(),
                     n_.where.word(8 + other).load()};
    if (stale_.size() < 64 && old.capability != 0) stale_.push_back(old);
  }

  void settle() {
    for (auto& t : targets_) n_.port.fence(t.there.node()).ignore();
    n_.where.barrier();
    for (auto& t : targets_) {
      if (!allows(t.there.allowed(), rights::read)) continue;
      std::vector<std::byte> got(part);
      OK(t.there.fetch(mine(), got));
      EXPECT_TRUE(same(got, t.expected)) << "node " << n_.port.self() << " at node " << t.there.node() << " '" << t.there.name()
                                         << "'";
    }
    n_.where.barrier();
  }

  node_under_test& n_;
  base::random random_;
  const int operations_;
  std::vector<memory> memories_;
  std::vector<exported> exports_;
  std::vector<target> targets_;
  std::vector<window> stale_;
};

TEST_P(vmmc_protection, long_random_sequences_do_what_is_allowed_and_nothing_else) {
  const int operations = plain_pair() ? 100000 / 2 : impaired() ? 400 : nodes() > 2 ? 1500 : 4000;  // of each node
  run_on_nodes(GetParam(), [&](fabric& port, meeting& where) {
    node_under_test n(port, where);
    random_attempts all(n, operations);
    where.barrier();
    all.run();
    where.barrier();
  });
}

ON_EVERY_FABRIC(vmmc_protection);

}  // namespace
}  // namespace weft::test
