#include "research/experiment.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <numeric>

#include <weft/status.h>

#include "base/text.h"
#include "charts/table.h"

namespace weft::research {

experiment::experiment(std::vector<program> programs, std::vector<system> systems, const request& r)
    : programs_(std::move(programs)), systems_(std::move(systems)), request_(r) {
  for (const auto& line : r.instead) {
    auto words = base::split(line, ' ');
    std::erase(words, "");
    const std::string name = words.empty() ? "" : words[0];
    const auto p = std::find_if(programs_.begin(), programs_.end(), [&](const auto& each) { return each.name == name; });
    if (p == programs_.end()) {
      std::string known;
      for (const auto& each : programs_) known += (known.empty() ? "" : ", ") + each.name;
      throw error(errc::invalid_argument, "--instead: there is no program '" + name + "' among the paper's; choose of " + known);
    }
    words.erase(words.begin());
    p->arguments = p->quick = words;
    instead_[name] = line;
  }
}

std::string experiment::told_changes() const {
  std::string text;
  for (const auto& [name, line] : instead_) text += (text.empty() ? "" : "; ") + line;
  for (const auto& [name, value] : request_.machine) text += (text.empty() ? "" : "; ") + ("--" + name + " " + value);
  return text.empty() ? "" : "Not as usual, but as asked for: " + text + ".";
}

const program& experiment::of(const point& p) const {
  return *std::find_if(programs_.begin(), programs_.end(), [&](const auto& each) { return each.called() == p.program; });
}

double experiment::cycles(const point& p) const {
  double sum = 0;
  for (const auto& r : reports_.at(p)) sum += r.at("cycles").get<double>();
  return sum / of(p).seeds;
}

simulation experiment::simulation_of(const point& p, std::size_t seed) const {
  const auto& program = of(p);
  const auto& system = *std::find_if(systems_.begin(), systems_.end(), [&](const auto& each) { return each.name == p.system; });
  simulation s;
  s.name = p.program + " on " + std::to_string(p.processors) + " processors, " + p.system;
  for (const auto& [name, value] : p.variation) s.name += ", " + name + " " + value;
  s.words = {request_.programs + "/" + program.name + "_sim"};
  const auto& size = request_.quick ? program.quick : program.arguments;
  s.words.insert(s.words.end(), size.begin(), size.end());
  s.words.insert(s.words.end(), system.arguments.begin(), system.arguments.end());
  if (program.seeds > 1) {
    s.name += ", seed " + std::to_string(seed);
    s.words.insert(s.words.end(), {"--seed", std::to_string(seed)});
  }
  s.settings = request_.machine;
  const auto set = [&](const std::string& setting, const std::string& value) {
    if (!s.settings.emplace(setting, value).second)
      throw error(errc::invalid_argument, "--" + setting + ": the paper's experiments set it themselves");
  };
  for (const auto& [setting, value] : system.settings)
    if (!p.variation.contains(setting)) set(setting, value);
  set("processors", std::to_string(p.processors));
  for (const auto& [setting, value] : p.variation) set(setting, value);
  s.weight = program.weight;
  return s;
}

void experiment::run() {
  std::vector<simulation> all;
  for (const auto& [p, reports] : reports_)
    for (std::size_t seed = 1; seed <= reports.size(); ++seed) all.push_back(simulation_of(p, seed));
  check(all);
  auto outcomes = run_all(all, request_.how);
  auto next = outcomes.begin();
  for (auto& [p, reports] : reports_)
    for (auto& r : reports) r = std::move(next++->report);
}

nlohmann::json experiment::all() const {
  auto list = nlohmann::json::array();
  for (const auto& [p, reports] : reports_)
    for (const auto& r : reports) list.push_back(r);
  return list;
}

double experiment::references_per_second() const {
  double references = 0, seconds = 0;
  for (const auto& [p, reports] : reports_)
    for (const auto& r : reports) {
      const double of_processor = r.at("processor_seconds").get<double>();
      references += r.at("references_per_second").get<double>() * of_processor;
      seconds += of_processor;
    }
  return references / std::max(seconds, 1e-9);
}

nlohmann::json json_of(const std::vector<claim>& claims) {
  nlohmann::json j = {{"held", std::count_if(claims.begin(), claims.end(), [](const claim& c) { return c.held; })},
                      {"all", claims.size()}};
  for (const auto& c : claims) j["checks"].push_back({{"name", c.name}, {"claim", c.sentence}, {"held", c.held}, {"seen", c.seen}});
  return j;
}

std::string html_of(const std::vector<claim>& claims) {
  using charts::table;
  table t({{"the paper says", table::holds::words}, {"here", table::holds::words}, {"seen", table::holds::words}});
  for (const auto& c : claims) t.row({c.sentence, c.held ? "holds" : "does not hold", c.seen});
  return t.html();
}

void print(const std::vector<claim>& claims) {
  for (const auto& c : claims)
    std::printf("%s  %s: %s (%s)\n", c.held ? "holds " : "FAILS ", c.name.c_str(), c.sentence.c_str(), c.seen.c_str());
}

namespace {

std::vector<double> places(const std::vector<double>& of) {
  std::vector<double> all;
  for (const double value : of) {
    const auto below = std::count_if(of.begin(), of.end(), [&](double v) { return v < value; });
    const auto equal = std::count(of.begin(), of.end(), value);
    all.push_back(static_cast<double>(below) + static_cast<double>(equal + 1) / 2);
  }
  return all;
}

}  // namespace

double rank_agreement(const std::vector<double>& a, const std::vector<double>& b) {
  const auto x = places(a), y = places(b);
  const auto n = static_cast<double>(x.size());
  const double mean = (n + 1) / 2;
  double both = 0, of_x = 0, of_y = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    both += (x[i] - mean) * (y[i] - mean);
    of_x += (x[i] - mean) * (x[i] - mean);
    of_y += (y[i] - mean) * (y[i] - mean);
  }
  return of_x == 0 || of_y == 0 ? 0 : both / std::sqrt(of_x * of_y);
}

}  // namespace weft::research
