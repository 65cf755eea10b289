// Kontothanassis and Scott, "Using Memory-Mapped Network Interfaces to Improve the Performance of Distributed Shared Memory", HPCA 1996:
// Figures 1 to 8 and Table 2, simulated again.
#include <algorithm>
#include <cstdio>

#include "base/text.h"
#include "research/cashmere_programs.h"
#include "research/cashmere_results.h"
#include "research/cashmere_runs.h"
#include "research/experiment.h"
#include "cli/sim/sweep.h"
#include "charts/bars.h"
#include "charts/document.h"
#include "charts/plot.h"
#include "charts/table.h"

namespace weft::research {

namespace {

using base::format;

constexpr const char* about_choices =
    "machine's parameters are the paper's Table 1, and the programs' inputs are the paper's or, where it has none, what our "
    "programs take by "
    "themselves. The paper tells little of their forms, and some were chosen after this table and the claims had been seen: "
    "research/cashmere-programs.md names them, --forms says what table and claims come to with others, and --guessed takes those "
    "that "
    "readers guessed "
    "who did not know the results.";
constexpr const char* about_guesses =
    "machine's parameters are the paper's Table 1. The programs are not the usual ones, but as readers guessed them who did not "
    "know the "
    "results: research/cashmere-programs.md.";

std::vector<program> programs_of(const request& r) {
  std::vector<program> all;
  for (const auto& p : cashmere_programs()) all.push_back(p.in(r.guessed ? p.marked(form::guessed) : p.usual()));
  return all;
}

class cashmere {
 public:
  explicit cashmere(const request& r) : quick_(r.quick), guessed_(r.guessed), programs_(programs_of(r)), runs_(programs_, r) {
    runs_.simulate();
    for (const auto& p : programs_) results_[p.name] = runs_.result_of(p);
    for (const auto& [name, result] : results_) cast_[name] = &result;
    agreement_ = agreement_of(cast_);
  }

  std::string page() const;
  nlohmann::json json() const;
  void print_table() const;
  std::vector<claim> claims() const;

 private:
  double over_nhhm(const std::string& p, const std::string& s) const { return results_.at(p).over_nhhm.at(s); }
  std::string figure(const char* title, const std::vector<std::string>& shown) const;
  std::string breakdown() const;
  std::string lines(const char* title, const char* what, const char* unit, const std::vector<std::string>& values) const;
  std::string table_html() const;
  std::string told_agreement() const;
  const char* why_off(const table_2_row& row) const;
  std::string about_runs() const {
    return std::string(runs_.all().machine().empty() ? "The " : "But for what was asked for, the ") +
           (guessed_ ? about_guesses : about_choices);
  }
  nlohmann::json table_json() const;

  const bool quick_, guessed_;
  const std::vector<program> programs_;
  cashmere_runs runs_;
  std::map<std::string, result> results_;
  cast cast_;
  agreement agreement_;
};

std::vector<claim> cashmere::claims() const {
  std::vector<claim> all;
  for (const auto& c : cashmere_checks()) all.push_back({c.name, c.sentence, c.holds(cast_), c.seen(cast_)});
  return all;
}

// --- the page -------------------------------------------------------------------------------------------------------------------------

std::string cashmere::figure(const char* title, const std::vector<std::string>& shown) const {
  charts::bars b(title, "time over NHHM's", {"time"});
  for (const auto& p : programs_)
    for (const auto& s : shown) b.add(s, {over_nhhm(p.name, s)}, p.name);
  return b.svg();
}

std::string cashmere::breakdown() const {
  charts::bars b("Figure 2: where the time goes", "time over NHHM's",
                 {std::begin(simulator::parts_of_time), std::end(simulator::parts_of_time)});
  for (const auto& p : programs_)
    for (const auto& s : systems_of_figure_7) {
      const auto& r = runs_.all().report(runs_.at(p.name, s));
      std::vector<double> parts;
      for (const char* part : simulator::parts_of_time)
        parts.push_back(r["breakdown"][part].get<double>() / r["breakdown"]["total"].get<double>() * over_nhhm(p.name, s));
      b.add(s, parts, p.name);
    }
  return b.svg();
}

std::string cashmere::lines(const char* title, const char* what, const char* unit, const std::vector<std::string>& values) const {
  charts::plot drawn(title, {unit, charts::scale::powers_of_ten}, {"time over NHHM's at the usual value"});
  for (const auto& p : in_figures_7_and_8)
    for (const auto& s : systems_of_figure_7) {
      charts::plot::line l{p + ", " + s, {}};
      for (const auto& v : values) {
        const auto time = base::parse_duration(v);
        const double x = std::string(what) == "latency" ? static_cast<double>(*time) / 1000 : std::stod(v);
        l.points.push_back({x, runs_.all().ratio(runs_.varied(p, s, what, v), runs_.at(p, "NHHM"))});
      }
      drawn.add(l);
    }
  return drawn.svg();
}

// Nothing for a program that is near the paper's on few and many processors, nor for one that is not ours: a quick run is of other sizes.
const char* cashmere::why_off(const table_2_row& row) const {
  const bool usual = !quick_ && !guessed_ && runs_.all().machine().empty() && !runs_.all().instead().contains(row.program);
  const result& r = results_.at(row.program);
  return usual && std::max(factor_off(r.few, row.at_8), factor_off(r.many(), row.at_64)) > near ? row.explained : "";
}

std::string cashmere::table_html() const {
  using charts::table;
  table t({{"program", table::holds::words},
           {format("%u processors", runs_.few())},
           {"paper, 8"},
           {format("%u processors", runs_.many())},
           {"paper, 64"},
           {"here over paper, 64"},
           {"why it is off", table::holds::words}});
  for (const auto& row : table_2) {
    const result& r = results_.at(row.program);
    t.row({row.program, format("%.2f", r.few), format("%.2f", row.at_8), format("%.2f", r.many()), format("%.2f", row.at_64),
           format("%.2f", r.many() / row.at_64), why_off(row)});
  }
  return t.html();
}

std::string cashmere::page() const {
  charts::document d("Cashmere, simulated again");
  d.paragraph(
      "Kontothanassis and Scott, Using Memory-Mapped Network Interfaces to Improve the Performance of Distributed Shared Memory, "
      "HPCA 1996, with weft's own protocols on weft's simulated machine. docs/simulator.md says what the model leaves out.");
  if (quick_) d.paragraph("A quick run: small programs on few processors. Its numbers are not the paper's.");
  if (const std::string other = runs_.all().told_changes(); !other.empty()) d.paragraph(other);
  d.heading("Table 2: running time of lrc over NHHM");
  d.add(table_html());
  d.paragraph(told_agreement());
  d.paragraph(about_runs());
  d.heading("Claims");
  d.add(html_of(claims()));
  d.heading("Figures");
  d.add(figure("Figure 1: DSM and Cashmere", {"lrc", "NHHM", "CHHM"}));
  d.add(breakdown());
  d.add(figure("Figure 3: without a merge buffer", {"NHHN", "CHHN"}));
  d.add(figure("Figure 4: cache fills by software", {"NSHM", "NSHN"}));
  d.add(figure("Figure 5: writes doubled by software, line transfer, 3 and 12 instructions", {"NSSN", "NSSN, 12"}));
  d.add(figure("Figure 6: writes doubled by software, page copying, 3 and 12 instructions", {"CHSN", "CHSN, 12"}));
  d.add(lines("Figure 7: network latency", "latency", "microseconds", latencies));
  d.add(lines("Figure 8: network bandwidth", "bandwidth", "MB/s", bandwidths));
  return d.html();
}

nlohmann::json cashmere::table_json() const {
  nlohmann::json t;
  for (const auto& row : table_2) {
    const result& r = results_.at(row.program);
    t["rows"].push_back({{"program", row.program},
                         {"few", r.few},
                         {"many", r.many()},
                         {"paper_8", row.at_8},
                         {"paper_64", row.at_64},
                         {"why_off", why_off(row)}});
  }
  t["processors"] = {runs_.few(), runs_.many()};
  t["spearman_8"] = agreement_.order_few;
  t["spearman_64"] = agreement_.order_many;
  t["within_factor_1_5_at_8"] = agreement_.near_few;
  t["within_factor_1_5"] = agreement_.near_many;
  t["programs_above_1"] = agreement_.above_1;
  t["programs_larger_at_64"] = agreement_.larger_on_many;
  return t;
}

// In two lines, as sentences.
std::string cashmere::told_agreement() const {
  const agreement& a = agreement_;
  return format(
      "On %u processors the order agrees by %.2f (Spearman), %d of 9 are within a factor of 1.5, %d are above 1 there and on %u, "
      "and %d "
      "are larger than on %u.\nOn %u the order agrees by %.2f, and %d are within a factor of 1.5.",
      runs_.many(), a.order_many, a.near_many, a.above_1, runs_.few(), a.larger_on_many, runs_.few(), runs_.few(), a.order_few,
      a.near_few);
}

nlohmann::json cashmere::json() const {
  return {{"paper", "cashmere"},
          {"quick", quick_},
          {"guessed", guessed_},
          {"instead", runs_.all().instead()},
          {"machine", runs_.all().machine()},
          {"table2", table_json()},
          {"claims", json_of(claims())},
          {"references_per_second", runs_.all().references_per_second()},
          {"runs", runs_.all().all()}};
}

void cashmere::print_table() const {
  if (const std::string other = runs_.all().told_changes(); !other.empty()) std::printf("%s\n", other.c_str());
  std::printf("Table 2: running time of lrc over NHHM\n%-10s %12u %8s %12u %8s\n", "", runs_.few(), "paper", runs_.many(), "paper");
  for (const auto& row : table_2) {
    const result& r = results_.at(row.program);
    std::printf("%-10s %12.2f %8.2f %12.2f %8.2f\n", row.program, r.few, row.at_8, r.many(), row.at_64);
  }
  for (const auto& row : table_2)
    if (const std::string why = why_off(row); !why.empty()) std::printf("%s is off: %s\n", row.program, why.c_str());
  std::printf("%s\n%s\n\n", told_agreement().c_str(), about_runs().c_str());
}

}  // namespace

int cashmere_paper(const request& r) {
  const cashmere paper(r);
  paper.print_table();
  print(paper.claims());
  write_file(r.html, paper.page());
  write_file(r.json, paper.json().dump(1) + "\n");
  return 0;
}

}  // namespace weft::research
