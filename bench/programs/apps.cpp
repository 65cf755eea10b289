#include "bench/programs/apps.h"

#include <algorithm>

namespace weft::bench {
namespace {

using samples = std::span<const double>;

// The median of each program, and of these the worst.
requirement worst_over_plain(const std::string& key, const std::string& owner, double bound) {
  requirement r{key, owner, "a program on one node of " + owner + " / plain sequential, the worst of all", true, bound, {}, {}};
  for (const auto& a : measured_apps())
    for (const auto& side : {owner, std::string("plain")}) r.needs.push_back({side, a.label, 0});
  r.value = [owner](const measurements& m) {
    std::optional<double> worst;
    for (const auto& a : measured_apps())
      if (const auto one = m.ratio({owner, a.label, 0}, {"plain", a.label, 0})) worst = std::max(worst.value_or(0), *one);
    return worst;
  };
  return r;
}

// The median of each program in each way, and of these the worst.
requirement cost_of_statistics(const std::string& key, const std::string& part, const std::string& what, double bound) {
  requirement r{key, "statistics.shm", what + ", in percent of the time of a program's threads, the worst of all", true, bound, {},
                {}};
  for (const auto& a : measured_apps())
    for (const auto& w : ways_of_running)
      if (w.watched) r.needs.push_back({w.owner, a.label, 0});
  r.value = [needs = r.needs, part](const measurements& m) {
    std::optional<double> worst;
    for (const auto& each : needs)
      if (const auto one = m.median(each.owner + part, each.name)) worst = std::max(worst.value_or(0), 100 * *one);
    return worst;
  };
  return r;
}

requirement over_threads(const std::string& key, const std::string& owner, const std::string& label, double bound) {
  return made_of(key, owner, label + ": time of the threaded program / time on weft", false, bound,
                 {{"threads", label, 0}, {owner, label, 0}}, [](samples v) { return v[0] / v[1]; });
}

std::vector<requirement> all() {
  std::vector<requirement> list;
  for (const auto& a : measured_apps())
    if (a.direct) list.push_back(over_threads("direct." + a.label, "direct.shm", a.label, 0.97));
  for (const auto& a : measured_apps())
    list.push_back(over_threads("cashmere.shm." + a.label, "cashmere.shm", a.label, a.cashmere_bound));
  list.push_back(worst_over_plain("one_node_over_plain", "one_node", 1.02));
  list.push_back(worst_over_plain("cashmere.one_node_over_plain", "one_node_cashmere", only_reported));
  list.push_back(cost_of_statistics("statistics_percent", ".phases", "what --stats takes", 1));
  list.push_back(cost_of_statistics("statistics_percent.pages", ".pages", "what the map of pages takes besides", only_reported));
  for (const std::string owner : {"cashmere.shm.copied", "hlrc.udp"})
    for (const auto& a : measured_apps()) list.push_back(over_threads(owner + "." + a.label, owner, a.label, only_reported));
  return list;
}

}  // namespace

const std::vector<measured_app>& measured_apps() {
  using words = std::vector<std::string>;
  static const words grid = {"--size", "2048", "--steps", "50"}, small_grid = {"--size", "256", "--steps", "5"};
  static const auto unplaced = [](words w) {
    w.push_back("--unplaced");
    return w;
  };
  static const std::vector<measured_app> list = {
      {"sor", "sor", grid, small_grid, 2, 0.90},
      {"gauss", "gauss", {"--size", "1024"}, {"--size", "128"}, 4, 0.90},
      {"fft", "fft", {"--log-size", "20"}, {"--log-size", "12"}, 15, 0.75},
      {"lu", "lu", {"--size", "1024"}, {"--size", "128"}, 3, 0.90},
      {"water", "water", {"--molecules", "512"}, {"--molecules", "64"}, 25, 0.90},
      {"sor_lock", "sor_lock", grid, small_grid, 2, only_reported},
      {"radix", "radix", {"--keys", "8388608"}, {"--keys", "16384"}, 4, 0.70},
      {"barnes", "barnes", {"--bodies", "32768"}, {"--bodies", "256"}, 2, 0.90},
      {"lu_2048", "lu", {"--size", "2048"}, {"--size", "128"}, 2, 0.95, false},
      {"sor_unplaced", "sor", unplaced(grid), unplaced(small_grid), 2, 0.80, false},
  };
  return list;
}

const std::vector<requirement>& apps_requirements() {
  static const auto list = all();
  return list;
}

}  // namespace weft::bench
