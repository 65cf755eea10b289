#include "dst/coherence/choices.h"

#include <string_view>

#include "base/text.h"
#include "dst/coherence/by_protocol.h"
#include "dst/coherence/choosers.h"
#include "dst/coherence/cluster.h"

namespace dst {

using weft::base::format;
using weft::dsm::page_bytes;
using weft::dsm::protocol_statistics;

namespace {

constexpr std::uint32_t long_row = 128;  // pages, whose home is node 0

// One node's part in a round, after which there is a barrier.
struct turn {
  cluster::node& node;
  std::byte* base;
  std::uint32_t round;

  node_id self() const { return node.id(); }
  void read(std::uint32_t page) const {
    node.access(base + page * page_bytes, 1, false, [](std::byte*, std::size_t, std::size_t) {});
  }
  void write(std::uint32_t page) const {
    node.access(base + page * page_bytes, 1, true, [](std::byte* here, std::size_t, std::size_t) { *here ^= std::byte{1}; });
  }
};

struct count {
  const char* name;
  std::uint64_t protocol_statistics::*of;
};
constexpr count changed_pages{"changed_pages", &protocol_statistics::changed_pages};
constexpr count fetched_pages{"fetched_pages", &protocol_statistics::fetched_pages};
constexpr count notices_out{"notices_out", &protocol_statistics::notices_out};
constexpr count fetches{"fetches", &protocol_statistics::fetches};
constexpr count read_faults{"read_faults", &protocol_statistics::read_faults};

// A way to use pages, and what a node may count in the rounds from `from` on.
struct way {
  const char* name;
  std::string_view protocols;  // those that choose, with blanks around each
  network_style network;
  node_id nodes;
  std::uint32_t rounds;
  void (*play)(const turn&);
  node_id at;
  count counted;
  std::uint32_t from;
  std::uint64_t least, most;
};

constexpr std::string_view with_homes = " hlrc auto hlrc-au aurc hlrc-moving hlrc-update cashmere:copied ";
constexpr std::string_view by_hlrc = " hlrc auto hlrc-au aurc hlrc-moving hlrc-update ";
constexpr std::string_view by_dropping = " hlrc hlrc-au aurc hlrc-moving cashmere:copied ";
constexpr std::string_view by_cashmere = " cashmere:copied cashmere:immediate cashmere:unsafe=1 ";

void read_every_third_page(const turn& t) {
  for (std::uint32_t p = 0; t.self() == 1 && t.round == 1 && p < 40; p += 3) t.read(p);
}

// Node 0 writes pages, and in the next round node 1 reads the first of them.
void write_and_read(const turn& t, std::uint32_t written, std::uint32_t read) {
  for (std::uint32_t p = 0; t.self() == 0 && t.round % 2 == 0 && p < written; ++p) t.write(p);
  for (std::uint32_t p = 0; t.self() == 1 && t.round % 2 == 1 && p < read; ++p) t.read(p);
}

constexpr way ways[] = {
    {"a page that one node writes gets it for its home", " auto hlrc-moving ", network_style::messages, 3, 20,
     [](const turn& t) {
       if (t.self() == 1) t.write(0);
     },
     1, changed_pages, 10, 0, 0},
    {"a page that is read between its changes is updated", " auto ", network_style::messages, 3, 60,
     [](const turn& t) { write_and_read(t, 1, 1); }, 1, fetched_pages, 12, 0, 0},
    {"a long row of pages is fetched again, not updated", " auto ", network_style::messages, 3, 100,
     [](const turn& t) { write_and_read(t, long_row, long_row); }, 1, fetched_pages, 60, 20 * long_row, 20 * long_row},
    {"so is a row that begins a page earlier every time", " auto ", network_style::messages, 3, 100,
     [](const turn& t) {
       write_and_read(t, long_row, 0);
       for (std::uint32_t p = 63 - t.round / 2; t.self() == 1 && t.round % 2 == 1 && p < long_row; ++p) t.read(p);
     },
     1, fetched_pages, 60, (95 + 114) * 20 / 2, (95 + 114) * 20 / 2},  // pages of the first such round, and of the last
    {"copies that nobody uses any more cost their home nothing", " auto ", network_style::messages, 3, 240,
     [](const turn& t) {
       if (t.self() == 0 && t.round % 2 == 0) t.write(0);
       if (t.self() != 0 && t.round % 2 == 1 && t.round < 20) t.read(0);
     },
     0, changed_pages, 200, 0, 0},
    {"changes of a page that nobody reads are not told", with_homes, network_style::messages, 3, 60,
     [](const turn& t) {
       if (t.self() == 0 && t.round % 2 == 0) t.write(0);
       if (t.self() == 1 && t.round == 1) t.read(0);
     },
     0, notices_out, 20, 0, 0},
    {"copies of a page that is read seldom are not updated", " auto ", network_style::messages, 3, 1600,
     [](const turn& t) {
       if (t.self() == 0 && t.round % 2 == 0) t.write(0);
       if (t.self() == 1 && t.round % 80 == 5) t.read(0);
     },
     0, changed_pages, 0, 0, 0},
    {"changes of a page that is read seldom are told once, and seldom noted further", " auto ", network_style::messages, 3, 1600,
     [](const turn& t) {
       if (t.self() == 0 && t.round % 2 == 0) t.write(0);
       if (t.self() == 1 && t.round % 40 == 5) t.read(0);
     },
     0, notices_out, 800, 20, 40},
    {"copies of a page that several nodes read seldom are not updated", " auto ", network_style::messages, 4, 800,
     [](const turn& t) {
       if (t.self() == 0 && t.round % 2 == 0) t.write(0);
       if (t.self() != 0 && t.round % 40 == 5) t.read(0);
     },
     0, changed_pages, 0, 0, 0},
    {"a page that is read for a while now and then is updated in vain less and less often", " auto ", network_style::messages, 3,
     2400,
     [](const turn& t) {
       if (t.self() == 0 && t.round % 2 == 0) t.write(0);
       if (t.self() == 1 && t.round % 2 == 1 && t.round % 120 < 10) t.read(0);
     },
     0, changed_pages, 0, 20, 120},
    {"pages that are read in a row are fetched together", with_homes, network_style::messages, 2, 2,
     [](const turn& t) {
       for (std::uint32_t p = 0; t.self() == 1 && t.round == 1 && p < 32; ++p) t.read(p);
     },
     1, fetches, 1, 1, 8},
    {"a row that was read before is fetched with two questions at most", by_dropping, network_style::messages, 2, 8,
     [](const turn& t) { write_and_read(t, 16, 16); }, 1, fetches, 2, 3, 3 * 2},
    {"a row of which only the first page is read any more is no row", by_dropping, network_style::messages, 2, 80,
     [](const turn& t) {
       write_and_read(t, 16, t.round < 4 ? 16 : 1);
       if (t.self() == 1) t.read(20 + t.round);
     },
     1, fetched_pages, 40, 20 + 40, 20 + 40},
    {"pages at equal distances are fetched together", by_cashmere, network_style::mapped, 2, 2, read_every_third_page, 1, fetches,
     1, 1, 6},
    {"pages at equal distances come in one message", by_hlrc, network_style::messages, 2, 2, read_every_third_page, 1, fetches, 1,
     1, 6},
    {"copies that were closed to see whether they are used are opened together", " auto ", network_style::messages, 2, 240,
     [](const turn& t) { write_and_read(t, 8, 8); }, 1, read_faults, 60, 1, 4},
    {"a home opens its pages together", with_homes, network_style::messages, 2, 2,
     [](const turn& t) {
       for (std::uint32_t p = 0; t.self() == 0 && t.round == 1 && p < 32; ++p) t.read(p);
     },
     0, read_faults, 1, 1, 4},
};

std::optional<std::string> play(const way& w, const std::string& protocol) {
  std::uint64_t counted = 0;
  cluster_options o;
  o.protocol = protocol;
  o.nodes = w.nodes;
  o.network = w.network;
  o.pages = 192;
  departing_chooser plain({});
  cluster c(o, plain);
  c.run([&](cluster::node& n) {
    auto* base = static_cast<std::byte*>(n.space().allocate_together(long_row * page_bytes, page_bytes, weft::placement::on(0)));
    n.space().barrier();
    std::uint64_t before = 0;
    for (std::uint32_t round = 0; round < w.rounds; ++round) {
      if (round == w.from) before = n.space().statistics().*w.counted.of;
      w.play({n, base, round});
      n.space().barrier();
      c.time().progress();
    }
    if (n.id() == w.at) counted = n.space().statistics().*w.counted.of - before;
  });
  if (c.time().failure()) return c.time().failure();
  if (counted >= w.least && counted <= w.most) return std::nullopt;
  return format("node %u has %llu %s from round %u on, not %llu to %llu", w.at, static_cast<unsigned long long>(counted),
                w.counted.name, w.from, static_cast<unsigned long long>(w.least), static_cast<unsigned long long>(w.most));
}

}  // namespace

std::optional<std::string> run_choices(const std::string& protocol) {
  return run_cases<way>(protocol, ways, "ways to use pages, and it chooses as it should",
                        [&](const way& w) { return play(w, protocol); });
}

}  // namespace dst
