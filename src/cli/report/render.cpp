#include "cli/report/render.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

#include "base/text.h"
#include "cli/report/render_pages.h"
#include "cli/report/source_lines.h"
#include "charts/bars.h"
#include "charts/document.h"
#include "charts/matrix.h"
#include "charts/plot.h"
#include "charts/svg.h"
#include "charts/table.h"

namespace weft::cli::report {
namespace {

using base::format;
using charts::short_number;
using holds = charts::table::holds;

// ViSMI's words for the parts, in Figure 3.
const std::vector<std::string> part_names = {"computation", "page fetch", "lock", "barrier", "handler", "protocol"};

std::vector<double> values(const times& t) {
  return {t.begin(), t.end()};
}

std::string title_of(const run_record& r) {
  return format("%zu node%s, %s", r.nodes.size(), r.nodes.size() == 1 ? "" : "s", r.setting().c_str());
}

// --- several runs: ViSMI's Table 3 ------------------------------------------------------------------------------------------------

// What speed-up is measured against: the fastest run of one node.
const run_record* run_of_one(const std::vector<run_record>& runs) {
  const run_record* best = nullptr;
  for (const auto& r : runs)
    if (r.nodes.size() == 1 && (!best || r.wall < best->wall)) best = &r;
  return best;
}

void add_runs(charts::document& d, const std::vector<run_record>& runs) {
  const auto* alone = run_of_one(runs);
  charts::table t(
      {{"run", holds::words}, {"nodes"}, {"seconds"}, {"speed-up"}, {"efficiency"}, {"computing"}, {"command", holds::words}});
  for (const auto& r : runs) {
    const double nodes = static_cast<double>(r.nodes.size());
    double all = 0;
    for (const double part : r.spent) all += part;
    t.row({r.setting(), short_number(nodes).substr(0, short_number(nodes).find('.')), short_number(r.wall),
           alone ? format("%.2f", alone->wall / r.wall) : "-", alone ? format("%.0f%%", 100 * alone->wall / r.wall / nodes) : "-",
           all > 0 ? format("%.0f%%", 100 * r.spent[0] / all) : "-", r.command});
  }
  d.add(t.html());
  if (!alone) d.paragraph("There is no run of one node among these, so there is no speed-up to tell.");
  if (!alone || runs.size() < 2) return;
  charts::plot p("Speed-up over " + title_of(*alone), {"nodes"}, {"times as fast"});
  std::map<std::string, charts::plot::line> lines;
  double most = 1;
  for (const auto& r : runs) {
    auto& l = lines[r.setting()];
    l.title = r.setting();
    l.points.push_back({static_cast<double>(r.nodes.size()), alone->wall / r.wall});
    most = std::max(most, static_cast<double>(r.nodes.size()));
  }
  for (auto& [setting, l] : lines) p.add(std::move(l));
  p.add({"ideal", {{1, 1}, {most, most}}, charts::plot::style::dotted});
  d.add(p.svg());
}

// --- one run ----------------------------------------------------------------------------------------------------------------------

void add_time_by_node(charts::document& d, const run_record& r) {
  charts::bars b("Where the time of each node went", "seconds", part_names);
  for (std::size_t n = 0; n < r.nodes.size(); ++n) b.add(format("node %zu", n), values(r.nodes[n].spent));
  d.add(b.svg("Of all its application threads together. Parts as in docs/statistics.md."));
  const double all = std::accumulate(r.spent.begin(), r.spent.end(), 0.0);
  if (all > 0) d.paragraph(format("Keeping these records took %.2f%% of that time.", 100 * r.watching / all));
}

// What the slowest node needed makes an epoch long: beside the sum of all nodes it is told which one computed longest.
void add_time_by_epoch(charts::document& d, const run_record& r) {
  const std::size_t count = r.nodes[0].epochs.size();
  if (count == 0) return;
  charts::bars b("The same by epoch, from barrier to barrier", "seconds of all nodes", part_names);
  for (std::size_t e = 0; e < count; ++e) {
    times all{};
    for (const auto& n : r.nodes)
      if (e < n.epochs.size())
        for (std::size_t p = 0; p < all.size(); ++p) all[p] += n.epochs[e][p];
    b.add(std::to_string(e + 1), values(all));
  }
  d.add(b.svg(r.barriers_each > 1 ? format("Each bar is %.0f barriers.", r.barriers_each)
                                  : "Each bar ends with a barrier of all nodes."));
}

void add_traffic(charts::document& d, const run_record& r) {
  const std::size_t n = r.nodes.size();
  charts::matrix fetched("Pages fetched", "by node", "from node", n, charts::matrix::counts::bytes);
  charts::matrix changed("Changes sent home", "by node", "to node", n, charts::matrix::counts::bytes);
  double all_fetched = 0, all_changed = 0;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      fetched.set(i, j, r.nodes[i].fetched[j]);
      changed.set(i, j, r.nodes[i].changed[j]);
      all_fetched += r.nodes[i].fetched[j];
      all_changed += r.nodes[i].changed[j];
    }
  if (all_fetched + all_changed == 0) return d.paragraph("No pages went between nodes.");
  d.add(fetched.svg());
  if (all_changed > 0) d.add(changed.svg());
}

void add_counts(charts::document& d, const run_record& r) {
  std::vector<charts::table::column> columns = {{"count", holds::words}};
  for (std::size_t n = 0; n < r.nodes.size(); ++n) columns.push_back({format("node %zu", n)});
  charts::table t(columns);
  for (std::size_t c = 0; c < r.nodes[0].counts.size(); ++c) {
    std::vector<std::string> cells = {r.nodes[0].counts[c].first};
    for (const auto& n : r.nodes) cells.push_back(format("%.0f", c < n.counts.size() ? n.counts[c].second : 0));
    t.row(std::move(cells));
  }
  d.fold("All counts", t.html());
}

void add_locks(charts::document& d, const run_record& r, const source_lines& lines) {
  struct sum {
    double waits = 0, waited = 0;
    std::string place;
  };
  std::map<std::string, sum> by_name;
  for (const auto& n : r.nodes)
    for (const auto& l : n.locks) {
      auto& s = by_name[l.name];
      s.waits += l.waits;
      s.waited += l.waited;
      s.place = lines.of({l.place});
    }
  if (by_name.empty()) return;
  std::vector<std::pair<std::string, sum>> order(by_name.begin(), by_name.end());
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.second.waited > b.second.waited; });
  constexpr std::size_t most = 12;
  order.resize(std::min(order.size(), most));
  charts::table t({{"lock, flag or counter", holds::words}, {"operations"}, {"seconds in them"}, {"for example at", holds::words}});
  for (const auto& [name, s] : order) t.row({name, format("%.0f", s.waits), short_number(s.waited), s.place});
  d.heading("Locks that cost most");
  d.add(t.html());
}

void add_run(charts::document& d, run_record& r) {
  std::vector<std::string> places;
  for (const auto& a : r.allocations) places.insert(places.end(), a.calls.begin(), a.calls.end());
  for (const auto& n : r.nodes)
    for (const auto& l : n.locks) places.push_back(l.place);
  const source_lines lines(places);
  for (auto& a : r.allocations) a.site = lines.of(a.calls);
  d.heading(title_of(r) + format(": %.3g seconds", r.wall));
  add_time_by_node(d, r);
  add_time_by_epoch(d, r);
  add_traffic(d, r);
  add_locks(d, r, lines);
  add_pages(d, r);
  add_counts(d, r);
}

}  // namespace

std::string render(std::vector<run_record> runs) {
  const auto& command = runs.back().command;
  const auto program = command.substr(0, command.find(' '));
  charts::document d("weft report: " + program.substr(program.rfind('/') + 1));
  d.heading("Runs");
  add_runs(d, runs);
  for (auto& r : runs) add_run(d, r);
  return d.html();
}

}  // namespace weft::cli::report
