#include "research/cashmere_runs.h"

#include <algorithm>

namespace weft::research {

namespace {

setting_map by(const char* interface, const char* doubled_write = nullptr) {
  setting_map s{{"protocol", "cashmere"}, {"interface", interface}};
  if (doubled_write) s["doubled-write"] = doubled_write;
  return s;
}

const std::vector<system> systems = {
    {"lrc", {{"protocol", "lrc"}}}, {"NHHM", by("NHHM")},           {"CHHM", by("CHHM")},           {"NHHN", by("NHHN")},
    {"CHHN", by("CHHN")},           {"NSHM", by("NSHM")},           {"NSHN", by("NSHN")},           {"NSSN", by("NSSN")},
    {"CHSN", by("CHSN")},           {"NSSN, 12", by("NSSN", "12")}, {"CHSN, 12", by("CHSN", "12")},
};

}  // namespace

cashmere_runs::cashmere_runs(std::vector<program> programs, const request& r)
    : few_(r.quick ? 4 : 8), many_(r.quick ? 16 : 64), programs_(std::move(programs)), runs_(programs_, systems, r) {}

bool cashmere_runs::on_other_networks(const program& p) const {
  return std::find(in_figures_7_and_8.begin(), in_figures_7_and_8.end(), p.name) != in_figures_7_and_8.end();
}

// The usual value is not a variation.
point cashmere_runs::varied(const std::string& program, const std::string& system, const std::string& what,
                            const std::string& value) const {
  if (value == "1us" || value == "400") return at(program, system);
  return {program, system, many_, {{what, value}}};
}

void cashmere_runs::simulate() {
  for (const auto& p : programs_) {
    for (const auto& s : systems) runs_.want(at(p.called(), s.name));
    for (const char* s : {"lrc", "NHHM"}) runs_.want({p.called(), s, few_});
    if (!on_other_networks(p)) continue;
    for (const auto& s : systems_of_figure_7) {
      for (const auto& l : latencies) runs_.want(varied(p.called(), s, "latency", l));
      for (const auto& b : bandwidths) runs_.want(varied(p.called(), s, "bandwidth", b));
    }
  }
  runs_.run();
}

result cashmere_runs::result_of(const program& p) const {
  const std::string name = p.called();
  result r;
  r.few = runs_.ratio({name, "lrc", few_}, {name, "NHHM", few_});
  for (const auto& s : systems) r.over_nhhm[s.name] = runs_.ratio(at(name, s.name), at(name, "NHHM"));
  if (!on_other_networks(p)) return r;
  for (const auto& s : systems_of_figure_7) {
    r.by_latency[s] = runs_.ratio(varied(name, s, "latency", "10us"), varied(name, s, "latency", "1us"));
    r.by_bandwidth[s] = runs_.ratio(varied(name, s, "bandwidth", "100"), varied(name, s, "bandwidth", "1000"));
  }
  return r;
}

}  // namespace weft::research
