// What Cashmere's Table 2 and claims owe to the forms of its programs: every form alone instead of the usual one, and all combinations.
#include <algorithm>
#include <cstdio>
#include <deque>

#include "base/text.h"
#include "research/cashmere_programs.h"
#include "research/cashmere_results.h"
#include "research/cashmere_runs.h"
#include "charts/document.h"
#include "charts/table.h"

namespace weft::research {

namespace {

using base::format;

constexpr const char* marks =
    "* as readers guessed it who did not know the results\n+ in the form that our program had before there was a simulator";

// Of a cast: what the table comes to, and which claims do not hold.
struct finding {
  agreement agrees;
  std::vector<std::string> lost;

  explicit finding(const cast& c) : agrees(agreement_of(c)) {
    for (const auto& check : cashmere_checks())
      if (!check.holds(c)) lost.push_back(check.name);
  }
};

struct tried {
  std::string program;
  const form* way;
  result came_to;
};

// Something that is asked of every combination, and how many it is true of.
struct tally {
  std::string what;
  std::function<bool(const cast&, const agreement&)> true_of;
  std::size_t times = 0;
};

class all_forms {
 public:
  explicit all_forms(const request& r) : runs_(programs(), r) {
    runs_.simulate();
    for (const auto& p : cashmere_programs())
      for (const auto& f : p.forms) tried_.push_back({p.name, &f, runs_.result_of(named(p, f))});
    for (const auto& t : tried_) usual_.try_emplace(t.program, &t.came_to);
    for (const auto& t : tried_) {
      if (t.way->is(form::guessed)) guessed_[t.program] = &t.came_to;
      if (t.way->is(form::oldest)) oldest_[t.program] = &t.came_to;
    }
    count_combinations();
  }

  void print() const;
  nlohmann::json json() const;
  std::string page(bool quick) const;

 private:
  static program named(const cashmere_program& p, const form& f) {
    program with_name = p.in(f);
    with_name.form = f.what;
    return with_name;
  }
  static std::vector<program> programs() {
    std::vector<program> all;
    for (const auto& p : cashmere_programs())
      for (const auto& f : p.forms) all.push_back(named(p, f));
    return all;
  }
  finding with(const tried& t) const {
    cast c = usual_;
    c[t.program] = &t.came_to;
    return finding(c);
  }
  void count_combinations();
  void count_from(std::size_t program, cast& c);
  std::vector<std::vector<std::string>> rows() const;
  double share(const tally& t) const { return static_cast<double>(t.times) / static_cast<double>(combinations_); }

  cashmere_runs runs_;
  std::deque<tried> tried_;  // which do not move
  cast usual_, guessed_, oldest_;
  std::vector<tally> tallies_;
  std::size_t combinations_ = 0;
};

void all_forms::count_combinations() {
  tallies_ = {{"all programs are above 1", [](const cast&, const agreement& a) { return a.above_1 == 9; }},
              {"all are larger on many processors", [](const cast&, const agreement& a) { return a.larger_on_many == 9; }},
              {"the order agrees by 0.75 at least", [](const cast&, const agreement& a) { return a.order_many >= 0.75; }},
              {"six are within a factor of 1.5", [](const cast&, const agreement& a) { return a.near_many >= 6; }},
              {"all of these four", [](const cast&, const agreement& a) {
                 return a.above_1 == 9 && a.larger_on_many == 9 && a.order_many >= 0.75 && a.near_many >= 6;
               }}};
  const auto& checks = cashmere_checks();
  for (const auto& check : checks)
    tallies_.push_back({check.name, [&check](const cast& c, const agreement&) { return check.holds(c); }});
  tallies_.push_back({"all claims", [&](const cast& c, const agreement&) {
                        return std::all_of(checks.begin(), checks.end(), [&](const auto& check) { return check.holds(c); });
                      }});
  cast c;
  count_from(0, c);
}

void all_forms::count_from(std::size_t program, cast& c) {
  if (program == cashmere_programs().size()) {
    ++combinations_;
    const agreement a = agreement_of(c);
    for (auto& t : tallies_) t.times += t.true_of(c, a);
    return;
  }
  const std::string& name = cashmere_programs()[program].name;
  for (const auto& t : tried_)
    if (t.program == name) {
      c[name] = &t.came_to;
      count_from(program + 1, c);
    }
}

// For people, in columns: program, form, times on few and on many processors; order, near, above 1, claims.
std::vector<std::vector<std::string>> all_forms::rows() const {
  std::vector<std::vector<std::string>> all;
  const auto add = [&](const std::string& program, const std::string& what, const result* r, const finding& f) {
    std::string lost;
    for (const auto& name : f.lost) lost += (lost.empty() ? "" : ", ") + name;
    all.push_back({program, what, r ? format("%.2f", r->few) : "", r ? format("%.2f", r->many()) : "",
                   format("%.2f", f.agrees.order_many), format("%d", f.agrees.near_many), format("%d", f.agrees.above_1),
                   lost.empty() ? "none" : lost});
  };
  for (const auto& t : tried_) add(t.program, t.way->what + " " + t.way->marks, &t.came_to, with(t));
  add("all", "the usual ones, which stand first", nullptr, finding(usual_));
  add("all", "those with *", nullptr, finding(guessed_));
  add("all", "those with +", nullptr, finding(oldest_));
  return all;
}

void all_forms::print() const {
  if (const std::string other = runs_.all().told_changes(); !other.empty()) std::printf("%s\n", other.c_str());
  std::printf("Running time of lrc over NHHM, and what Table 2 and the claims come to with this form and else the usual ones\n");
  const auto line = [](const std::vector<std::string>& c) {
    std::printf("%-9s %-58s %6s %6s %6s %5s %3s  %s\n", c[0].c_str(), c[1].c_str(), c[2].c_str(), c[3].c_str(), c[4].c_str(),
                c[5].c_str(), c[6].c_str(), c[7].c_str());
  };
  line({"", "", format("%u", runs_.few()), format("%u", runs_.many()), "order", "near", ">1", "claims that do not hold"});
  for (const auto& row : rows()) line(row);
  std::printf("%s\n\nOf all %zu combinations of these forms\n", marks, combinations_);
  for (const auto& t : tallies_) std::printf("%8zu %5.1f%%  %s\n", t.times, 100 * share(t), t.what.c_str());
}

nlohmann::json all_forms::json() const {
  const auto told = [](const finding& f) -> nlohmann::json {
    return {{"spearman_64", f.agrees.order_many},
            {"within_factor_1_5", f.agrees.near_many},
            {"programs_above_1", f.agrees.above_1},
            {"programs_larger_at_64", f.agrees.larger_on_many},
            {"claims_lost", f.lost}};
  };
  nlohmann::json j = {{"paper", "cashmere"},
                      {"processors", {runs_.few(), runs_.many()}},
                      {"machine", runs_.all().machine()},
                      {"usual", told(finding(usual_))},
                      {"guessed", told(finding(guessed_))},
                      {"oldest", told(finding(oldest_))},
                      {"combinations", {{"all", combinations_}}}};
  for (const auto& t : tried_)
    j["forms"].push_back({{"program", t.program},
                          {"form", t.way->what},
                          {"options", t.way->options},
                          {"inputs", t.way->inputs},
                          {"marks", t.way->marks},
                          {"few", t.came_to.few},
                          {"many", t.came_to.many()},
                          {"alone", told(with(t))}});
  for (const auto& t : tallies_) j["combinations"]["of_which"][t.what] = t.times;
  return j;
}

std::string all_forms::page(bool quick) const {
  using charts::table;
  charts::document d("Cashmere: what the results owe to the forms of programs");
  d.paragraph(
      "Running time of lrc over NHHM with every form of the nine programs that we know, and what Table 2 and the claims come to "
      "with this form and "
      "else the usual ones, which stand first.");
  for (const auto& mark : base::split(marks, '\n')) d.paragraph(mark);
  if (quick) d.paragraph("A quick run: small programs on few processors. Its numbers are not the paper's.");
  if (const std::string other = runs_.all().told_changes(); !other.empty()) d.paragraph(other);
  table forms({{"program", table::holds::words},
               {"form", table::holds::words},
               {format("%u processors", runs_.few())},
               {format("%u processors", runs_.many())},
               {"order agrees by"},
               {"within 1.5"},
               {"above 1"},
               {"claims that do not hold", table::holds::words}});
  for (auto& row : rows()) {
    std::replace(row.back().begin(), row.back().end(), '_', ' ');  // which lets lines break
    forms.row(std::move(row));
  }
  d.add(forms.html());
  d.heading(format("Of all %zu combinations", combinations_));
  table shares({{"of them"}, {"of a hundred"}, {"have this", table::holds::words}});
  for (const auto& t : tallies_) shares.row({format("%zu", t.times), format("%.1f", 100 * share(t)), t.what});
  d.add(shares.html());
  return d.html();
}

}  // namespace

int cashmere_forms(const request& r) {
  const all_forms forms(r);
  forms.print();
  write_file(r.html, forms.page(r.quick));
  write_file(r.json, forms.json().dump(1) + "\n");
  return 0;
}

}  // namespace weft::research
