// What comes of Cashmere's nine programs, and whether it is what the paper says: Table 2 and the claims of section 4.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "research/experiment.h"

namespace weft::research {

// Of a program in one form.
struct result {
  double few = 0;                           // running time of lrc over that of NHHM on few processors
  std::map<std::string, double> over_nhhm;  // on many, by system: running time over that of NHHM
  double many() const { return over_nhhm.at("lrc"); }
  // Of the four programs of Figures 7 and 8, by system: running time at 10 us over that at 1, and at 100 MB/s over that at 1000.
  std::map<std::string, double> by_latency, by_bandwidth;
};

// A form of each program. The results must outlive it.
using cast = std::map<std::string, const result*>;

struct table_2_row {
  const char* program;
  double at_8, at_64;
  const char* explained;  // what we found of its usual form, if that is off
};
extern const std::array<table_2_row, 9> table_2;

inline constexpr double near = 1.5;  // a factor
double factor_off(double here, double paper);

struct agreement {
  double order_few, order_many;                      // Spearman
  int near_few, near_many, above_1, larger_on_many;  // of the nine programs
};
agreement agreement_of(const cast& c);

// One of the paper's claims.
struct claim_check {
  const char* name;
  const char* sentence;
  std::function<bool(const cast&)> holds;
  std::function<std::string(const cast&)> seen;  // the numbers that decide
};
const std::vector<claim_check>& cashmere_checks();

inline const std::vector<std::string> in_figures_7_and_8 = {"appbt", "water", "gauss", "sor_lock"};
inline const std::vector<std::string> systems_of_figure_7 = {"lrc", "NHHM", "CHHM"};  // and 1, 2 and 8

}  // namespace weft::research
