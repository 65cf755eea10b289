// `weft bench protocols`: the programs of apps/ on every protocol that keeps memory coherent in software; time, messages and bytes.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>
#include <memory>
#include <numeric>

#include "bench/harness/bench_command.h"
#include "bench/programs/protocols.h"
#include "bench/harness/selection.h"
#include "bench/harness/text_table.h"
#include "bench/harness/turns.h"
#include "cli/commands.h"

namespace weft::bench {
namespace {

struct protocols_request : bench_request {
  unsigned minutes = 90;
};

// All protocols take some turns, a process each. Those that are about as fast as the fastest are then compared run by run: all of them are
// started together, and wait while others run. That says which is the best. Of several that are equally fast it is the one that had luck, so
// how far auto is from it is told by other runs, of these two alone, in many processes: of two of the same program one is often some per
// cent faster all along. There are more of them where the first do not tell on which side of the limit auto is.
struct comparison {
  unsigned to_learn;  // runs of each that do not count
  unsigned runs;      // that do
  unsigned all_runs() const { return to_learn + runs; }
};
struct plan {
  unsigned rounds;  // of all
  double slow;      // those that take so many times as long as the fastest have no further turns; auto has
  comparison of_fast;
  unsigned finals, most_finals;  // comparisons of auto with the best of the others
  comparison final;
};
constexpr plan whole{.rounds = 2, .slow = 2, .of_fast = {8, 24}, .finals = 10, .most_finals = 40, .final = {6, 10}};
constexpr plan quick_plan{.rounds = 1, .slow = 2, .of_fast = {1, 2}, .finals = 1, .most_finals = 1, .final = {1, 2}};

// A program in surroundings, and the protocols that it is wanted on.
class compared_case {
 public:
  compared_case(const compared_app& a, const surroundings& s, const selection& wanted, bool quick)
      : app_(a), where_(s), quick_(quick) {
    for (const auto& p : compared_protocols())
      if (compared_on(p, s) && wanted.wants(owner_of(p, s), a.label)) protocols_.push_back(p);
  }

  // Of processes; a comparison's round counts as one.
  double runs() const {
    return static_cast<double>(protocols_.size()) * how().rounds + how().of_fast.all_runs() + how().finals * how().final.all_runs();
  }

  // One sample of each protocol, and more of those that are compared.
  void take(collector& into) const {
    names told;
    std::vector<entrant> all;
    for (const auto& p : protocols_) all.push_back({owner_of(p, where_), owner_of(p, where_), [&] { return run(p, told); }});
    auto found = take_turns(app_.label, all, how().rounds, into);
    found.add_all(shared(found, told));
    into.take(found.least());
    const auto fast = fast_ones(found, told);
    const auto best = best_of(fast, compare(fast, app_.label, how().of_fast, into));
    if (best.empty()) return;
    const std::string rival = fast.at(best).front(), label = auto_beside(rival, app_);
    std::vector<double> over;  // by process
    for (unsigned i = 0; i < how().finals || (i < how().most_finals && undecided(over)); ++i) {
      const auto found_now = compare({*own_group(fast), {best, fast.at(best)}}, label, how().final, into);
      const auto ratio = found_now.ratio({owner_of(auto_protocol, where_), label, 0}, {owner_of(rival, where_), label, 0});
      if (!ratio) return;
      over.push_back(*ratio);
    }
  }

 private:
  using names = std::map<std::string, std::string>;                // by protocol, what its run called itself
  using groups = std::map<std::string, std::vector<std::string>>;  // by what they call themselves, protocols

  const plan& how() const { return quick_ ? quick_plan : whole; }

  // Whether the limit is within two standard errors of the mean.
  static bool undecided(const std::vector<double>& over) {
    const double n = static_cast<double>(over.size()), mean = std::accumulate(over.begin(), over.end(), 0.0) / n;
    double squares = 0;
    for (const double o : over) squares += (o - mean) * (o - mean);
    return std::abs(mean - most_over_best) < 2 * std::sqrt(squares / (n - 1) / n);
  }

  groups fast_ones(const measurements& found, const names& told) const {
    const auto least = [&](const std::string& protocol) {
      return found.least({owner_of(protocol, where_), app_.label, 0}).value_or(std::numeric_limits<double>::infinity());
    };
    double best = std::numeric_limits<double>::infinity();
    for (const auto& [protocol, name] : told) best = std::min(best, least(protocol));
    groups fast;
    for (const auto& [protocol, name] : told)
      if (protocol == auto_protocol || least(protocol) <= how().slow * best) fast[name].push_back(protocol);
    return fast;
  }

  static groups::const_iterator own_group(const groups& of) {
    return std::find_if(of.begin(), of.end(),
                        [](const auto& g) { return std::count(g.second.begin(), g.second.end(), auto_protocol) != 0; });
  }

  // What the best of the others calls itself; empty, if auto does.
  std::string best_of(const groups& fast, const measurements& compared) const {
    const auto time_of = [&](const std::string& protocol) {
      return measurements::place{owner_of(protocol, where_), app_.label, 0};
    };
    const auto ours = own_group(fast);
    if (ours == fast.end()) return {};
    std::string best;
    double most = ours->second.size() > 1 ? 1 : 0;  // auto's time over another's
    for (const auto& [name, protocols] : fast)
      if (const auto over = compared.ratio(time_of(auto_protocol), time_of(protocols.front()));
          name != ours->first && over && *over > most)
        most = *over, best = name;
    return best;
  }

  // Runs of all, by turns, forwards and backwards. Those that count, which have been taken.
  measurements compare(const groups& all, const std::string& label, const comparison& c, collector& into) const {
    measurements counted;
    std::vector<std::pair<const std::vector<std::string>*, program_by_turns>> jobs;
    for (const auto& [name, protocols] : all) {
      auto r = run_of(app_, protocols.front(), where_, quick_);
      r.repeat = c.all_runs();
      auto started = program_by_turns::start(std::move(r));
      if (!started) return into.fail(started.sentence()), counted;
      jobs.emplace_back(&protocols, std::move(*started));
    }
    for (unsigned round = 0; round < c.all_runs(); ++round) {
      into.advance(1, app_.label + ", by turns");
      measurements found;
      for (std::size_t i = 0; i < jobs.size(); ++i) {
        auto& [protocols, job] = jobs[round % 2 == 0 ? i : jobs.size() - 1 - i];
        const auto seconds = job.run();
        if (!seconds) return into.fail(seconds.sentence()), counted;
        for (const auto& p : *protocols) found.add(owner_of(p, where_), label, 0, "s", *seconds);
      }
      if (round >= c.to_learn) counted.add_all(found);
    }
    for (auto& [protocols, job] : jobs) job.end();
    into.take(counted);
    return counted;
  }

  result<measurements> run(const std::string& protocol, names& told) const {
    const auto done = run_counted(run_of(app_, protocol, where_, quick_));
    if (!done) return done.failure();
    told[protocol] = done->protocol;
    measurements m;
    const auto owner = owner_of(protocol, where_);
    m.add(owner, app_.label, 0, "s", done->seconds);
    m.add(owner, app_.label + ".messages", 0, "times", done->messages);
    m.add(owner, app_.label + ".bytes", 0, "bytes", done->bytes);
    return m;
  }

  // Protocols that call themselves the same are the same code: the runs of each are runs of the others.
  measurements shared(const measurements& found, const names& told) const {
    measurements more;
    for (const auto& [protocol, name] : told)
      for (const auto& [other, others_name] : told) {
        if (other == protocol || others_name != name) continue;
        for (const auto& [what, sizes] : found.all().at(owner_of(other, where_)))
          for (const auto& [size, m] : sizes)
            for (const double sample : m.samples) more.add(owner_of(protocol, where_), what, size, m.unit, sample);
      }
    return more;
  }

  const compared_app& app_;
  const surroundings& where_;
  const bool quick_;
  std::vector<std::string> protocols_;
};

bool measure(const selection& wanted, const protocols_request& r, report& into) {
  const auto how = settings_of(r);
  std::vector<compared_case> cases;
  for (const auto& s : all_surroundings)
    for (const auto& a : compared_apps()) cases.emplace_back(a, s, wanted, how.quick);
  double runs = 0;
  for (const auto& c : cases) runs += c.runs() * how.repeat;
  const auto until = base::now() + base::nanoseconds{r.minutes} * 60 * base::second;
  collector all(into, runs);
  for (unsigned i = 0; i < how.repeat; ++i)
    for (const auto& c : cases) {
      if (base::now() > until) {
        all.note(
            base::format("the time limit of %u minutes was reached; not everything was measured %u times", r.minutes, how.repeat));
        return false;
      }
      c.take(all);
    }
  return all.complete();
}

// Programs down, surroundings across.
std::string over_best_text(const report& r) {
  std::vector<std::string> head = {"time with auto / with the best other"};
  for (const auto& s : all_surroundings) head.push_back(base::format("%u nodes, %s", s.nodes, s.fabric.c_str()));
  text_table t(head);
  bool any = false;
  for (const auto& a : compared_apps()) {
    std::vector<std::string> cells = {a.label};
    for (const auto& s : all_surroundings) cells.push_back(short_number(auto_over_best(r.found, a, s).value_or(std::nan(""))));
    if (all_missing(cells)) continue;
    any = true;
    t.row(std::move(cells));
  }
  return any ? t.text() + "\n" : "";
}

// One table for each kind of number and each surroundings: programs down, protocols across.
std::string table_text(const report& r, const surroundings& s, const std::string& title, const std::string& suffix, double scale) {
  std::vector<std::string> head = {base::format("%s, %u nodes over %s", title.c_str(), s.nodes, s.fabric.c_str())};
  for (const auto& p : compared_protocols()) head.push_back(p);
  text_table t(head);
  bool any = false;
  for (const auto& a : compared_apps()) {
    std::vector<std::string> cells = {a.label};
    for (const auto& p : compared_protocols())
      cells.push_back(short_number(value_of(r.found, owner_of(p, s), a.label + suffix), scale));
    if (all_missing(cells)) continue;
    any = true;
    t.row(std::move(cells));
  }
  return any ? t.text() + "\n" : "";
}

int bench_protocols(protocols_request r) {
  if (r.repeat == 0) r.repeat = 1;  // of many turns
  std::vector<std::string> none;
  if (!prepare(r, none)) return status_usage;
  std::vector<std::string> names;
  for (const auto& a : compared_apps()) names.push_back(a.program);
  if (const auto missing = programs_missing(names, false); !missing.empty()) {
    complain(missing);
    return status_failed;
  }
  const selection wanted(r.only, protocols_requirements());
  auto all = new_report("protocols", r, wanted.judged());
  all.fabrics.push_back({"all", "all"});
  const bool complete = measure(wanted, r, all);
  print_heading(all);
  std::printf("%s\n%s", ratios_text(all).c_str(), over_best_text(all).c_str());
  for (const auto& s : all_surroundings)
    std::printf("%s%s%s", table_text(all, s, "seconds", "", 1).c_str(),
                table_text(all, s, "thousands of messages", ".messages", 1e-3).c_str(),
                table_text(all, s, "megabytes", ".bytes", 1e-6).c_str());
  for (const auto& note : all.notes) std::printf("%s\n", note.c_str());
  write_results(r, all);
  return complete ? 0 : status_failed;
}

}  // namespace

void add_bench_protocols(CLI::App& bench, int& exit_status) {
  auto* protocols =
      bench.add_subcommand("protocols", "The programs of apps/ on every protocol: time, messages and bytes, on this host");
  const auto r = std::make_shared<protocols_request>();
  add_options(*protocols, *r);
  protocols->get_option("--repeat")->description("Times that all of it is measured; default: 1");
  add_only(*protocols, *r, protocols_requirements());
  protocols->add_option("--minutes", r->minutes, "Stop after this long, and report what there is; default: 90")
      ->type_name("COUNT")
      ->check(CLI::Range(1, 1000));
  protocols->callback([=, &exit_status] { exit_status = bench_protocols(*r); });
}

}  // namespace weft::bench
