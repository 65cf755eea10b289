#include "bench/programs/protocols.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "space/protocols.h"

namespace weft::bench {
namespace {

using samples = std::span<const double>;
using words = std::vector<std::string>;

const char* const copying = "cashmere:copied";
constexpr unsigned runs_a_turn = 8;  // the first meets memory that nobody has used, and pages that auto knows nothing of

// A program in surroundings: what a time is of.
struct situation {
  const compared_app& app;
  const surroundings& where;
};

std::vector<situation> all_situations() {
  std::vector<situation> all;
  for (const auto& s : all_surroundings)
    for (const auto& a : compared_apps()) all.push_back({a, s});
  return all;
}

measurements::place place_of(const std::string& protocol, const situation& s) {
  return {owner_of(protocol, s.where), s.app.label, 0};
}

// Auto's time over another's, of runs that were next to each other.
std::optional<double> auto_over(const measurements& m, const std::string& protocol, const situation& s) {
  return m.ratio(place_of(auto_protocol, s), place_of(protocol, s));
}

// Of one program, or of all.
std::vector<measurements::place> times_of(const std::string& label) {
  std::vector<measurements::place> needs;
  for (const auto& s : all_situations())
    for (const auto& p : compared_protocols())
      if (compared_on(p, s.where) && (label.empty() || label == s.app.label)) needs.push_back(place_of(p, s));
  return needs;
}

// Auto beside the protocol that is best in a situation, in the situation where that is worst; of one program, or of all.
std::optional<double> worst_over_best(const measurements& m, const std::string& label) {
  std::optional<double> worst;
  for (const auto& s : all_situations())
    if (const auto over = auto_over_best(m, s.app, s.where); over && (label.empty() || label == s.app.label))
      worst = std::max(worst.value_or(0), *over);
  return worst;
}

requirement over_best(const std::string& label, double bound) {
  return {label.empty() ? "auto_over_best" : "auto_over_best." + label,
          "all",
          "time with auto / with the best other protocol, the worst of all " + std::string(label.empty() ? "programs, " : "") +
              "fabrics and numbers of nodes",
          true,
          bound,
          [label](const measurements& m) { return worst_over_best(m, label); },
          times_of(label)};
}

// Auto beside the one fixed protocol that does best over all.
std::optional<double> auto_geomean_over_best_fixed(const measurements& m) {
  std::optional<double> worst;
  for (const auto& p : compared_protocols()) {
    if (p == auto_protocol) continue;
    double sum = 0;
    unsigned count = 0;
    for (const auto& s : all_situations())
      if (const auto over = auto_over(m, p, s)) sum += std::log(*over), ++count;
    if (count > 0) worst = std::max(worst.value_or(0), std::exp(sum / count));
  }
  return worst;
}

// Update mode's time beside that of dropping copies, over udp.
requirement update_over_invalidate(const std::string& app, unsigned nodes, bool at_most, double bound) {
  const surroundings s{"udp", nodes};
  const auto what = base::format("%s, %u nodes over udp: time with hlrc-update / with hlrc", app.c_str(), nodes);
  return made_of("update_over_invalidate." + app, "all", what, at_most, bound,
                 {{owner_of("hlrc-update", s), app, 0}, {owner_of("hlrc", s), app, 0}}, [](samples v) { return v[0] / v[1]; });
}

requirement aurc_on_radix() {
  const surroundings s{"udp", 4};
  const auto ours = owner_of("aurc", s), theirs = owner_of("hlrc", s);
  return made_of("aurc_over_hlrc.radix", "all", "radix, 4 nodes over udp: time or bytes, whichever is less, with aurc / with hlrc",
                 true, 1, {{ours, "radix", 0}, {theirs, "radix", 0}, {ours, "radix.bytes", 0}, {theirs, "radix.bytes", 0}},
                 [](samples v) { return std::min(v[0] / v[1], v[2] / v[3]); });
}

}  // namespace

std::optional<double> auto_over_best(const measurements& m, const compared_app& a, const surroundings& where) {
  std::optional<double> among_all, beside_the_best;
  for (const auto& p : compared_protocols()) {
    if (p == auto_protocol) continue;
    const auto worse = [&](std::optional<double>& worst, const std::string& name) {
      const auto over = m.ratio({owner_of(auto_protocol, where), name, 0}, {owner_of(p, where), name, 0});
      if (over) worst = std::max(worst.value_or(0), *over);
    };
    worse(among_all, a.label);
    worse(beside_the_best, auto_beside(p, a));
  }
  return beside_the_best ? beside_the_best : among_all;
}

std::string auto_beside(const std::string& best, const compared_app& a) {
  return a.label + ".auto_beside." + best;
}

const std::vector<compared_app>& compared_apps() {
  static const words cube = {"--planes", "64", "--rows", "64", "--columns", "64", "--cycles", "2"},
                     small_cube = {"--planes", "16", "--rows", "16", "--columns", "16", "--cycles", "1", "--relaxations", "2"};
  static const std::vector<compared_app> list = {
      {"sor", "sor", {"--size", "1024", "--steps", "60"}, {"--size", "131", "--steps", "5"}},
      {"sor_lock", "sor_lock", {"--size", "1024", "--steps", "40"}, {"--size", "131", "--steps", "5"}},
      {"gauss", "gauss", {"--size", "640"}, {"--size", "96"}},
      {"fft", "fft", {"--log-size", "19"}, {"--log-size", "12"}},
      {"radix", "radix", {"--keys", "1048576"}, {"--keys", "16384"}},
      {"lu", "lu", {"--size", "640"}, {"--size", "128"}},
      {"water", "water", {"--molecules", "216", "--steps", "20"}, {"--molecules", "64"}},
      {"em3d", "em3d", {"--nodes", "16384", "--steps", "100"}, {"--nodes", "3001", "--steps", "5"}},
      {"mgrid", "mgrid", cube, small_cube},
      {"barnes", "barnes", {"--bodies", "4096", "--steps", "4"}, {"--bodies", "201", "--steps", "2"}},
      {"ocean", "ocean", {"--size", "130", "--steps", "3"}, {"--size", "38", "--steps", "1"}},
      {"mp3d", "mp3d", {"--particles", "20001", "--steps", "8"}, {"--particles", "2001", "--steps", "2"}},
      {"appbt", "appbt", {"--size", "16", "--steps", "12"}, {"--size", "8", "--steps", "1"}},
      {"relay", "relay", {"--words", "8192", "--steps", "40"}, {"--words", "2000", "--steps", "20"}},
  };
  return list;
}

const std::vector<std::string>& compared_protocols() {
  static const auto list = [] {
    std::vector<std::string> names;
    for (const auto& p : runtime::known_protocols())
      if (p.make && std::string(p.name) != auto_protocol) names.push_back(p.name);
    for (const char* variant : {copying, "cashmere:immediate", "cashmere:unsafe"}) names.push_back(variant);
    names.push_back(auto_protocol);
    return names;
  }();
  return list;
}

bool compared_on(const std::string& protocol, const surroundings& s) {
  return protocol != copying || s.fabric == "shm";
}

std::string owner_of(const std::string& protocol, const surroundings& s) {
  return protocol + "." + s.fabric + "." + std::to_string(s.nodes);
}

program_run run_of(const compared_app& a, const std::string& protocol, const surroundings& s, bool quick) {
  const bool doubled = protocol == "aurc" && programs_missing({a.program + "_doubled"}, false).empty();
  return {.name = a.program + (doubled ? "_doubled" : ""),
          .arguments = quick ? a.quick_arguments : a.arguments,
          .workers = s.nodes,
          .protocol = protocol,
          .fabric = s.fabric,
          .repeat = quick ? 1u : runs_a_turn,
          .limit = 60};
}

const std::vector<requirement>& protocols_requirements() {
  static const auto list = [] {
    std::vector<requirement> all = {
        over_best("", most_over_best),
        {"auto_geomean_over_best_fixed", "all", "geometric mean of the times with auto / of those with the best other protocol",
         true, 1, auto_geomean_over_best_fixed, times_of("")},
        aurc_on_radix(),
        update_over_invalidate("sor", 2, true, 1),
        update_over_invalidate("em3d", 2, true, 1),
        update_over_invalidate("relay", 4, false, 1),
        update_over_invalidate("water", 4, true, only_reported),
    };
    for (const auto& a : compared_apps()) all.push_back(over_best(a.label, only_reported));
    return all;
  }();
  return list;
}

}  // namespace weft::bench
