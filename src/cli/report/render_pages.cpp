#include "cli/report/render_pages.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "cli/report/page_map.h"
#include "charts/svg.h"
#include "charts/table.h"
#include "charts/tiles.h"

namespace weft::cli::report {
namespace {

using base::format;
using holds = charts::table::holds;

constexpr std::size_t most_tiles = 1000, most_rows = 40, most_maps = 12;

// The pages of one place of allocation.
struct place {
  std::string site;
  std::uint64_t bytes = 0, blocks = 0;
  std::vector<const page_story*> pages;
  std::uint64_t faults = 0, moved = 0;
  std::array<std::size_t, verdicts> of{};
};

std::string sites_of(const page_story& s, const run_record& r) {
  std::string all;
  for (const auto a : s.allocations)
    if (all.find(r.allocations[a].site) == std::string::npos) all += (all.empty() ? "" : "; ") + r.allocations[a].site;
  return all.empty() ? "not known" : all;
}

std::vector<place> by_place(const std::vector<page_story>& stories, const run_record& r) {
  std::map<std::string, place> all;
  for (const auto& a : r.allocations) {
    auto& p = all[a.site];
    p.bytes += a.bytes;
    p.blocks += a.blocks;
  }
  for (const auto& s : stories) {
    auto& p = all[s.allocations.empty() ? "not known" : r.allocations[s.allocations[0]].site];
    p.pages.push_back(&s);
    p.faults += s.faults();
    p.moved += s.bytes();
    ++p.of[static_cast<std::size_t>(s.verdict)];
  }
  std::vector<place> order;
  for (auto& [site, p] : all) {
    p.site = site;
    if (!p.pages.empty()) order.push_back(std::move(p));
  }
  std::sort(order.begin(), order.end(), [](const place& a, const place& b) { return a.moved > b.moved; });
  return order;
}

std::string page_words(const page_story& s) {
  std::string nodes;
  for (const auto& u : s.uses)
    nodes += format("\nnode %u%s: %llu faults, fetched %llu times, wrote %llu times", u.node, u.home ? " (home)" : "",
                    static_cast<unsigned long long>(u.read_faults + u.write_faults), static_cast<unsigned long long>(u.fetches),
                    static_cast<unsigned long long>(u.writes));
  return format("page %llu: ", static_cast<unsigned long long>(s.page)) + s.words + nodes;
}

void add_map(charts::document& d, const place& p) {
  constexpr std::size_t colours[verdicts] = {5, 2, 0, 3, 4, 1};
  std::vector<charts::tiles::kind> kinds;
  for (std::size_t v = 0; v < verdicts; ++v) kinds.push_back({name_of(static_cast<verdict>(v)), colours[v]});
  charts::tiles t(p.site + ", " + charts::size_words(static_cast<double>(p.bytes)), kinds);
  for (std::size_t i = 0; i < std::min(p.pages.size(), most_tiles); ++i)
    t.add(static_cast<std::size_t>(p.pages[i]->verdict), page_words(*p.pages[i]));
  d.add(t.svg());
}

// What could be done, worst first. Pages of one place with the same verdict by the same nodes are told once.
void add_advice(charts::document& d, const std::vector<page_story>& stories, const run_record& r) {
  struct finding {
    const page_story* worst = nullptr;
    std::size_t pages = 0;
    std::uint64_t faults = 0, bytes = 0;
  };
  std::map<std::string, finding> all;
  for (const auto& s : stories) {
    if (s.advice.empty()) continue;
    std::string key = sites_of(s, r) + name_of(s.verdict);
    for (const auto w : s.writers) key += format(",%u", w);
    auto& f = all[key];
    if (!f.worst || s.bytes() > f.worst->bytes()) f.worst = &s;
    ++f.pages;
    f.faults += s.faults();
    f.bytes += s.bytes();
  }
  if (all.empty()) return d.paragraph("Nothing to improve was found in the way the pages are used.");
  std::vector<finding> order;
  for (const auto& [key, f] : all) order.push_back(f);
  std::sort(order.begin(), order.end(), [](const finding& a, const finding& b) { return a.bytes > b.bytes; });
  charts::table t({{"allocated at", holds::words},
                   {"pages"},
                   {"faults"},
                   {"moved"},
                   {"what happens (the worst page)", holds::words},
                   {"what to do", holds::words}});
  for (std::size_t i = 0; i < std::min(order.size(), most_rows); ++i) {
    const auto& f = order[i];
    t.row({sites_of(*f.worst, r), std::to_string(f.pages), std::to_string(f.faults),
           charts::size_words(static_cast<double>(f.bytes)), f.worst->words, f.worst->advice});
  }
  d.add(t.html());
}

void add_hottest(charts::document& d, std::vector<page_story>& stories, const run_record& r) {
  std::stable_sort(stories.begin(), stories.end(), [](const auto& a, const auto& b) { return a.bytes() > b.bytes(); });
  charts::table t({{"page"}, {"allocated at", holds::words}, {"faults"}, {"moved"}, {"verdict", holds::words}});
  for (std::size_t i = 0; i < std::min(stories.size(), most_rows); ++i)
    t.row({std::to_string(stories[i].page), sites_of(stories[i], r), std::to_string(stories[i].faults()),
           charts::size_words(static_cast<double>(stories[i].bytes())), stories[i].words});
  d.fold("The pages that moved most", t.html());
}

}  // namespace

void add_pages(charts::document& d, const run_record& r) {
  d.heading("Pages");
  auto stories = tell_pages(r);
  const bool in_hardware = r.protocol == "direct" || r.protocol == "cashmere:in-place";
  if (stories.empty())
    return d.paragraph(in_hardware ? "The nodes share their memory in hardware: there is nothing to tell of pages. A run with "
                                     "--protocol cashmere:copied shows them."
                                   : "No page was fetched or faulted.");
  add_advice(d, stories, r);
  const auto places = by_place(stories, r);
  for (std::size_t i = 0; i < std::min(places.size(), most_maps); ++i) add_map(d, places[i]);
  charts::table t(
      {{"allocated at", holds::words}, {"size"}, {"blocks"}, {"pages used"}, {"faults"}, {"moved"}, {"falsely shared"}});
  for (const auto& p : places)
    t.row({p.site, charts::size_words(static_cast<double>(p.bytes)), std::to_string(p.blocks), std::to_string(p.pages.size()),
           std::to_string(p.faults), charts::size_words(static_cast<double>(p.moved)),
           std::to_string(p.of[static_cast<std::size_t>(verdict::falsely_shared)])});
  d.fold("All places of allocation", t.html());
  add_hottest(d, stories, r);
  double left_out = 0;
  for (const auto& n : r.nodes) left_out += n.pages_left_out;
  if (left_out > 0) d.paragraph(format("%.0f pages that cost less are not shown.", left_out));
}

}  // namespace weft::cli::report
