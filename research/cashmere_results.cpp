#include "research/cashmere_results.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace weft::research {

constinit const std::array<table_2_row, 9> table_2 = {{
    {"appbt", 1.51, 6.16, "not explained"},
    {"water", 1.94, 8.43, "not explained"},
    {"mp3d", 8.17, 12.01, "two barriers a step take the place of locks on cells; with these it is 9.18 on 8"},
    {"em3d", 1.43, 2.61, "not explained"},
    {"fft", 1.15, 2.58,
     "to order the result everybody reads a part of every page, and lrc sends all changes ever made to it; 1.34 without that step"},
    {"gauss", 2.24, 5.80,
     "on 8 processors a worker's rows pass through a smaller cache for every pivot: with lrc, too, four fifths of the time are "
     "computing and cache "
     "misses"},
    {"mgrid", 1.39, 2.17,
     "bars have four neighbours: a relaxation of all grids brings a processor 18 pages by lrc, with twins and diffs, and 144 lines "
     "by NHHM; 1.84 in "
     "blocks of planes"},
    {"sor", 1.13, 2.53, "not explained"},
    {"sor_lock", 1.14, 1.51, "not explained"},
}};

namespace {

using base::format;
using names = std::vector<std::string>;

const names all_programs = [] {
  names all;
  for (const auto& row : table_2) all.push_back(row.program);
  return all;
}();

names all_but(const names& without) {
  names rest;
  std::copy_if(all_programs.begin(), all_programs.end(), std::back_inserter(rest),
               [&](const auto& p) { return std::find(without.begin(), without.end(), p) == without.end(); });
  return rest;
}

double over_nhhm(const cast& c, const std::string& program, const std::string& system) {
  return c.at(program)->over_nhhm.at(system);
}

template <typename Ratio>
double geometric_mean(const names& programs, Ratio&& of) {
  double sum = 0;
  for (const auto& p : programs) sum += std::log(of(p));
  return std::exp(sum / static_cast<double>(programs.size()));
}

std::string numbers(const cast& c, const names& programs, const std::string& system) {
  std::string text = system + " over NHHM: ";
  for (const auto& p : programs)
    text += format("%s%s %.2f", &p == &programs.front() ? "" : ", ", p.c_str(), over_nhhm(c, p, system));
  return text;
}

// That a system's ratio to NHHM is in a range, both ends excluded, for each of the programs.
claim_check in_range(const char* name, const char* sentence, const names& programs, const char* system, double above,
                     double below) {
  return {name, sentence,
          [=](const cast& c) {
            return std::all_of(programs.begin(), programs.end(), [&](const auto& p) {
              const double r = over_nhhm(c, p, system);
              return r > above && r < below;
            });
          },
          [=](const cast& c) { return numbers(c, programs, system); }};
}

claim_check copying_wins() {
  return {"copying_wins_without_hardware_reads", "without hardware reads copying is better than line transfer",
          [](const cast& c) {
            return std::all_of(all_programs.begin(), all_programs.end(),
                               [&](const auto& p) { return over_nhhm(c, p, "CHHM") < over_nhhm(c, p, "NSHM"); });
          },
          [](const cast& c) {
            std::string seen = numbers(c, all_programs, "NSHM") + "; " + numbers(c, all_programs, "CHHM");
            for (const char* s : {"NSHM", "CHHM", "NSHN", "CHHN"})
              seen +=
                  format("; mean of %s %.2f", s, geometric_mean(all_programs, [&](const auto& p) { return over_nhhm(c, p, s); }));
            return seen;
          }};
}

std::string losing_to_lrc_by_12(const cast& c) {
  std::string lost;
  for (const auto& p : all_programs)
    for (const char* s : {"NSSN, 12", "CHSN, 12"})
      if (over_nhhm(c, p, s) >= over_nhhm(c, p, "lrc")) lost += (lost.empty() ? "" : "; ") + p + " with " + s;
  return lost;
}

// How much longer the four programs take.
double growth(const cast& c, const std::string& system, std::map<std::string, double> result::*by) {
  return geometric_mean(in_figures_7_and_8, [&](const auto& p) { return (c.at(p)->*by).at(system); });
}

claim_check about_network(const char* name, const char* sentence, const char* what, std::map<std::string, double> result::*by,
                          bool (*holds)(double lrc, double nhhm, double chhm)) {
  return {name, sentence, [=](const cast& c) { return holds(growth(c, "lrc", by), growth(c, "NHHM", by), growth(c, "CHHM", by)); },
          [=](const cast& c) {
            std::string text = format("times from %s:", what);
            for (const auto& s : systems_of_figure_7) text += format(" %s %.2f", s.c_str(), growth(c, s, by));
            return text;
          }};
}

}  // namespace

double factor_off(double here, double paper) {
  return std::max(here / paper, paper / here);
}

agreement agreement_of(const cast& c) {
  agreement a{};
  std::vector<double> few, paper_few, many, paper_many;
  for (const auto& row : table_2) {
    const result& r = *c.at(row.program);
    few.push_back(r.few);
    many.push_back(r.many());
    paper_few.push_back(row.at_8);
    paper_many.push_back(row.at_64);
    a.near_few += factor_off(r.few, row.at_8) <= near;
    a.near_many += factor_off(r.many(), row.at_64) <= near;
    a.above_1 += r.few > 1 && r.many() > 1;
    a.larger_on_many += r.many() > r.few;
  }
  a.order_few = rank_agreement(few, paper_few);
  a.order_many = rank_agreement(many, paper_many);
  return a;
}

// A tenth is "matters" and "little" throughout.
const std::vector<claim_check>& cashmere_checks() {
  constexpr double any = 1e9;
  const names copying = {"sor", "sor_lock", "em3d"}, merging = {"gauss", "mgrid"};
  static const std::vector<claim_check> all = {
      in_range("cashmere_wins_by_half", "the Cashmere protocols outperform the DSM system by at least 50%", all_programs, "lrc",
               1.5, any),
      in_range("lines_beat_pages", "line transfer is at least as good as page copying except on sor, sor_l and perhaps em3d",
               all_but(copying), "CHHM", 0.98, any),
      in_range("pages_beat_lines_by_little", "sor and sor_l work better with page copying, by little", {"sor", "sor_lock"}, "CHHM",
               0.9, 1),
      in_range("pages_beat_lines_on_em3d_by_little", "em3d works better with page copying as well, by little, or not at all",
               {"em3d"}, "CHHM", 0.9, any),
      in_range("merging_matters", "merge buffers matter for gauss and mgrid", merging, "NHHN", 1.1, any),
      in_range("merging_hardly_matters_elsewhere", "there is enough bandwidth without merge buffers for all but two programs",
               all_but(merging), "NHHN", 0, 1.1),
      copying_wins(),
      {"twelve_instructions_cost_the_advantage", "12 instructions a doubled write can eliminate the advantage over DSM",
       [](const cast& c) { return !losing_to_lrc_by_12(c).empty(); },
       [](const cast& c) {
         const std::string lost = losing_to_lrc_by_12(c);
         return lost.empty() ? "on no program" : lost;
       }},
      about_network("latency_hurts_nhhm_most", "NHHM suffers most from latency", "1us to 10us", &result::by_latency,
                    [](double lrc, double nhhm, double chhm) { return nhhm > std::max(chhm, lrc); }),
      about_network("latency_hurts_lrc_least", "TreadMarks is largely insensitive to latency", "1us to 10us", &result::by_latency,
                    [](double lrc, double nhhm, double chhm) { return lrc < std::min(chhm, nhhm); }),
      about_network("bandwidth_helps_lrc_and_copying", "DSM and CHHM gain most from bandwidth", "1000 to 100",
                    &result::by_bandwidth, [](double lrc, double nhhm, double chhm) { return std::min(lrc, chhm) > nhhm; }),
  };
  return all;
}

}  // namespace weft::research
