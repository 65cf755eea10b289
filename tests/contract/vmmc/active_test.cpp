// Active messages and segments.
#include "contract/vmmc/fixture.h"

namespace weft::test {
namespace {

class vmmc_active : public vmmc_contract {};

struct point {
  double x, y;
  std::int32_t label;
};

TEST_P(vmmc_active, arguments_of_every_kind_arrive_as_they_were) {
  run_on_nodes(GetParam(), [&](fabric& port, meeting& where) {
    active::station station(port, exchange_of(port, where));
    std::atomic<int> calls{0}, wrong{0};
    auto check = [&](bool right) { wrong += !right; };
    const active::function<void()> nothing(station, "nothing", [&](const active::caller&) { ++calls; });
    const active::function<void(bool, char, std::uint16_t, float, double, point, word)> mixed(
        station, "mixed", [&](const active::caller& from, bool b, char c, std::uint16_t s, float f, double d, point p, word w) {
          check(b && c == 'x' && s == 65535 && f == 0.5f && d == -3.25 && p.x == 1 && p.y == 2 && p.label == -7 && w == from.node);
          ++calls;
        });
    using twenty_words = std::array<word, 20>;
    const active::function<void(twenty_words)> full(station, "full", [&](const active::caller& from, twenty_words w) {
      for (word i = 0; i < 20; ++i) check(w[i] == i + from.node);
      ++calls;
    });
    const active::function<void(int, bytes)> loaded(station, "loaded", [&](const active::caller&, int seed, bytes payload) {
      const auto expected = pattern(static_cast<std::uint64_t>(seed), payload.size());
      check(same(payload, expected));
      ++calls;
    });
    station.open();
    leave_together at_the_end{where};
    for (node_id to = 0; to < port.nodes(); ++to) {
      OK(nothing(to));
      OK(mixed(to, true, 'x', 65535, 0.5f, -3.25, {1, 2, -7}, port.self()));
      twenty_words w;
      for (word i = 0; i < 20; ++i) w[i] = i + port.self();
      OK(full(to, w));
      OK(full.reply(to, w));
      for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{100}, std::size_t{5000}, most_payload})
        OK(loaded(to, static_cast<int>(size) + 1, pattern(size + 1, size)));
    }
    EXPECT_EQ(loaded(0, 1, std::vector<std::byte>(most_payload + 1)).code(), errc::too_large);
    EXPECT_EQ(nothing(port.nodes()).code(), errc::invalid_argument);
    OK(port.wait([&] { return calls == 9 * static_cast<int>(port.nodes()); }, 20s));
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(station.malformed(), 0u);
  });
}

TEST_P(vmmc_active, a_function_answers_on_the_reply_lane_and_may_not_wait) {
  const int turns = rounds(300);
  run_on_nodes(GetParam(), [&](fabric& port, meeting& where) {
    node_under_test n(port, where);
    const auto mine = n.give("word", n.allocate(4096));
    const auto theirs = n.take(n.next(), "word");
    active::station station(port, exchange_of(port, where));
    std::atomic<int> answers{0};
    std::atomic<word> sum{0};
    const active::function<void(word)> answer(station, "answer", [&](const active::caller& from, word value) {
      EXPECT_EQ(from.lane, lane::reply);
      sum += value;
      ++answers;
    });
    const active::function<void(word)> ask(station, "ask", [&](const active::caller& from, word value) {
      EXPECT_EQ(answer(from.node, 1).code(), errc::would_block);
      if (n.next() != port.self() && !port.can().one_sided) {
        EXPECT_EQ(theirs.fetch_add(0, 1).code(), errc::would_block);
        EXPECT_EQ(theirs.fence().code(), errc::would_block);
      }
      EXPECT_EQ(n.vmmc.import_memory(n.next(), "other").code(), errc::would_block);
      EXPECT_TRUE(theirs.update_value(8, value).ok());
      EXPECT_TRUE(answer.reply(from.node, value * 2).ok());
    });
    station.open();
    leave_together at_the_end{where};
    for (int i = 1; i <= turns; ++i) OK(ask(n.next(), static_cast<word>(i)));
    OK(port.wait([&] { return answers == turns; }, 20s));
    EXPECT_EQ(sum, static_cast<word>(turns) * static_cast<word>(turns + 1));
  });
}

TEST_P(vmmc_active, disagreement_is_found_when_registering_or_opening) {
  if (impaired()) return;
  run_on_nodes(GetParam(), [&](fabric& port, meeting& where) {
    active::station station(port, exchange_of(port, where));
    auto ignore = [](const active::caller&, auto...) {};
    const active::function<void(int)> same(station, "same", ignore);
    EXPECT_THROW((active::function<void(int)>(station, "same", ignore)), error);
    EXPECT_THROW((active::function<void(int)>(station, "", ignore)), error);
    if (port.self() == 0)
      active::function<void(int)>(station, "different", ignore);
    else
      active::function<void(double)>(station, "different", ignore);
    if (port.nodes() == 1) return station.open();
    std::string said;
    try {
      station.open();
    } catch (const error& e) {
      said = e.what();
    }
    const bool disagrees = port.self() == 0 || port.self() > 0;
    EXPECT_EQ(!said.empty(), disagrees);
    EXPECT_NE(said.find("'different'"), std::string::npos) << said;
    EXPECT_THROW((active::function<void(int)>(station, "late", ignore)), error);
  });
}

TEST_P(vmmc_active, names_with_one_number_are_reported) {
  if (nodes() > 1) return;
  run_on_nodes(GetParam(), [&](fabric& port, meeting& where) {
    active::station station(port, exchange_of(port, where));
    // Of more names than numbers, two must share one.
    std::string said;
    for (int i = 0; i < 3000 && said.empty(); ++i) try {
        active::function<void()>(station, "name " + std::to_string(i), [](const active::caller&) {});
      } catch (const error& e) {
        said = e.what();
      }
    EXPECT_NE(said.find("same number"), std::string::npos) << said;
  });
}

TEST_P(vmmc_active, a_segment_fires_once_when_all_its_bytes_are_there) {
  run_on_nodes(GetParam(), [&](fabric& port, meeting& where) {
    constexpr std::size_t part = 100000;
    active::station station(port, exchange_of(port, where));
    auto m = port.allocate(part * port.nodes());
    OK(m);
    std::atomic<int> fired{0}, wrong{0};
    active::segment segment(station, *m, part * port.nodes(), [&] {
      for (node_id source = 0; source < port.nodes(); ++source) {
        const auto expected = pattern(source + 50, part);
        wrong += !same(expected, {m->base + source * part, part});
      }
      ++fired;
    });
    station.open();
    const auto all = where.gather(port.self(), segment.address());
    leave_together at_the_end{where};
    const auto data = pattern(port.self() + 50, part);
    for (const lane l : {lane::request, lane::reply}) {
      const int round = l == lane::request ? 1 : 2;
      for (node_id to = 0; to < port.nodes(); ++to)
        for (std::size_t at = 0, step = 1; at < part; at += step, step = std::min(step * 3, part - at))
          OK(active::transfer_to(station, all[to], port.self() * part + at, bytes(data).subspan(at, step), l));
      OK(port.wait([&] { return fired == round; }, 20s));
      EXPECT_EQ(segment.missing(), 0);
      where.barrier();
      segment.expect(part * port.nodes());
      where.barrier();
    }
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(fired, 2);
    EXPECT_EQ(active::transfer_to(station, all[0], part * port.nodes(), bytes(data).first(1)).code(), errc::out_of_bounds);
    auto forged = all[port.self()];
    forged.capability ^= 4;
    OK(active::transfer_to(station, forged, 0, bytes(data).first(1)));
    OK(port.wait([&] { return station.malformed() == 1; }, 20s));
  });
}

ON_EVERY_FABRIC(vmmc_active);

}  // namespace
}  // namespace weft::test
