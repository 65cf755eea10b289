#include "dst/coherence/systematic.h"

#include <cstdio>

#include "base/text.h"
#include "dst/coherence/apart.h"
#include "dst/coherence/choosers.h"
#include "dst/coherence/run.h"

namespace dst {

using weft::base::format;

namespace {

// The programs: cells 0 and 1 are neighbouring bytes of the first page, cell 2 lies in the second. Mutex 0 guards cells 0 and 2,
// mutex 1 guards cell 1.
class small_program {
 public:
  explicit small_program(std::vector<node_id> threads) {
    for (const node_id n : threads) p_.nodes = std::max(p_.nodes, n + 1);
    p_.threads = std::move(threads);
    p_.loose.resize(p_.threads.size());
    p_.steps.resize(p_.threads.size());
    p_.arrays = {{2 * 4096, weft::placement::cyclic()}};
    p_.cells = {{0, 100, 1}, {0, 101, 1}, {0, 4096, 8}};
    p_.objects = 3;
  }
  small_program& section(std::uint32_t thread, std::uint32_t lock, std::vector<std::uint32_t> cells) {
    step s{unit(), step_kind::section, lock};
    for (const auto c : cells) {
      s.accesses.push_back({c, false, 0});
      s.accesses.push_back({c, true, ++value_});
    }
    p_.steps[thread].push_back(std::move(s));
    return *this;
  }
  small_program& barrier() {
    const auto u = unit();
    p_.barriers[u] = p_.checkpoint[u] = true;
    for (auto& thread : p_.steps) thread.push_back({u, step_kind::barrier});
    return *this;
  }
  small_program& flag(std::uint32_t from, std::uint32_t to, std::uint32_t cell) {
    const auto u = unit();
    p_.steps[from].push_back({u, step_kind::set, 2, unset, 1, lock_way::plain, {{cell, true, ++value_}}});
    p_.steps[to].push_back({u, step_kind::await, 2, unset, 0, lock_way::plain, {{cell, false, 0}}});
    return *this;
  }
  program done() { return p_; }

 private:
  std::uint32_t unit() {
    p_.needs.emplace_back();
    p_.barriers.push_back(false);
    p_.checkpoint.push_back(false);
    return p_.units() - 1;
  }

  program p_;
  std::uint64_t value_ = 0;
};

std::vector<program> programs() {
  return {
      small_program({0, 1}).section(0, 0, {0, 2}).section(1, 1, {1}).section(0, 1, {1}).section(1, 0, {0, 2}).done(),
      small_program({0, 1, 2}).section(0, 0, {0}).section(1, 0, {2}).section(2, 0, {0, 2}).section(1, 1, {1}).done(),
      small_program({0, 1, 2}).section(2, 0, {0}).barrier().section(0, 0, {0}).section(1, 1, {1}).done(),
      small_program({0, 1, 0}).section(0, 0, {0}).section(2, 1, {1}).section(1, 0, {0}).section(1, 1, {1}).done(),
      small_program({0, 1}).flag(0, 1, 2).section(1, 0, {0}).section(0, 1, {1}).done(),
  };
}

using departures = std::vector<departing_chooser::departure>;

// Goes through all schedules of one program on one kind of network.
class search {
 public:
  search(const program& p, const cluster_options& o, std::uint64_t most, report& r) : p_(p), options_(o), most_(most), report_(r) {}

  // How it fails, if it does.
  std::optional<std::string> go(const departures& so_far) {
    report_.at(++runs_);
    departing_chooser by(so_far);
    const auto o = run(p_, options_, by, false);
    if (o.failure) return text(so_far) + *o.failure;
    if (so_far.size() == most_) return std::nullopt;
    const auto widths = by.widths();
    auto next = so_far;
    next.push_back({});
    for (std::size_t at = so_far.empty() ? 0 : so_far.back().decision + 1; at < widths.size(); ++at)
      for (std::size_t instead = 1; instead < widths[at]; ++instead) {
        next.back() = {at, instead};
        if (auto failed = go(next)) return failed;
      }
    return std::nullopt;
  }
  std::uint64_t runs() const { return runs_; }

 private:
  static std::string text(const departures& d) {
    std::string all = "departing";
    for (const auto& [decision, instead] : d) all += format(" at %zu by %zu", decision, instead);
    return all + ": ";
  }

  const program& p_;
  const cluster_options& options_;
  const std::uint64_t most_;
  report& report_;
  std::uint64_t runs_ = 0;
};

}  // namespace

std::optional<std::string> run_systematically(const std::string& protocol, std::uint64_t most) {
  std::size_t number = 0;
  for (const program& p : programs()) {
    ++number;
    for (const auto style : {network_style::messages, network_style::mapped}) {
      cluster_options o;
      o.protocol = protocol;
      o.nodes = p.nodes;
      o.network = style;
      const auto failed = apart::run(apart::longest_run, [&](report& r) {
        search s(p, o, most, r);
        if (const auto how = s.go({})) return r.failed(*how);
        std::printf("%s: program %zu on %s: right under all %llu schedules with up to %llu departures\n", protocol.c_str(), number,
                    to_string(style), static_cast<unsigned long long>(s.runs()), static_cast<unsigned long long>(most));
      });
      if (failed)
        return format("%s: program %zu on %s: %s\n%s", protocol.c_str(), number, to_string(style), failed->how.c_str(),
                      p.text().c_str());
    }
  }
  return std::nullopt;
}

}  // namespace dst
