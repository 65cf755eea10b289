#include "dst/coherence/litmus.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>

#include "base/text.h"
#include "dst/coherence/apart.h"
#include "dst/coherence/choosers.h"
#include "dst/coherence/cluster.h"
#include "litmus/shapes.h"

namespace dst {

using litmus::interleaving;
using litmus::place;
using litmus::shape;
using litmus::synchronisation;
using weft::base::format;

namespace {

constexpr std::uint32_t rounds = 16;       // in one run: later ones find copies of earlier ones
constexpr std::uint64_t most_runs = 1500;  // of one test, until all outcomes are seen
constexpr std::uint32_t most_flags = 16;   // of one round
constexpr unsigned longest_test = 60;      // seconds

struct test {
  const shape& what;
  synchronisation by;
  place where;

  std::string text() const { return format("%s, %s, %s", what.name.c_str(), litmus::to_string(by), litmus::to_string(where)); }
};

// One thread's view of a run, as litmus::perform wants it.
struct machine {
  cluster& all;
  cluster::node& node;
  const test& of;
  std::byte* base;
  std::uint32_t round = 0;

  std::uint32_t size() const { return of.what.bytes ? 1 : 4; }
  std::byte* address(std::uint32_t variable) const { return base + litmus::offset_of(of.what, of.where, variable); }
  std::uint32_t read(std::uint32_t variable) {
    std::uint32_t value = 0;
    node.access(address(variable), size(), false,
                [&](std::byte* here, std::size_t, std::size_t n) { std::memcpy(&value, here, n); });
    return value;
  }
  void write(std::uint32_t variable, std::uint32_t value) {
    node.access(address(variable), size(), true,
                [&](std::byte* here, std::size_t, std::size_t n) { std::memcpy(here, &value, n); });
  }
  void lock(std::uint32_t k) { node.space().lock(all.object(k), weft::space::for_ever); }
  void unlock(std::uint32_t k) { node.space().unlock(all.object(k)); }
  void barrier() { node.space().barrier(); }
  weft::sync_object& flag(std::uint32_t k) { return all.object(of.what.variables + round * most_flags + k); }
  void set(std::uint32_t k) { node.space().store(flag(k), 1); }
  void await(std::uint32_t k) { node.space().wait_at_least(flag(k), 1, weft::space::for_ever); }
};

struct run_result {
  std::optional<std::string> failure;
  std::vector<litmus::outcome> outcomes;  // by round
};

run_result run_once(const test& t, const std::string& protocol, const std::vector<interleaving>& orders, std::uint64_t seed) {
  weft::base::random r(seed);
  cluster_options o;
  o.protocol = protocol;
  o.nodes = static_cast<node_id>(t.what.threads.size() + r.below(2));  // somebody else may be home
  o.network = std::array{network_style::messages, network_style::one_sided, network_style::mapped}[r.below(3)];
  o.records_writes = r.chance(0.5);
  o.pages = 64;
  o.seed = seed;
  random_chooser by(seed);
  cluster c(o, by);
  const auto home = static_cast<node_id>(r.below(o.nodes));
  const auto where = t.where == place::pages_of_different_homes ? weft::placement::cyclic() : weft::placement::on(home);
  std::vector<std::vector<std::vector<std::uint32_t>>> registers(rounds, std::vector<std::vector<std::uint32_t>>(o.nodes));
  c.run([&](cluster::node& n) {
    machine m{c, n, t, static_cast<std::byte*>(n.space().allocate_together(litmus::array_bytes, weft::dsm::page_bytes, where))};
    for (; m.round < rounds; ++m.round) {
      for (std::uint32_t v = 0; v < t.what.variables && n.id() == 0; ++v) m.write(v, 0);
      m.barrier();
      if ((seed + m.round + n.id()) % 3 != 0)
        for (std::uint32_t v = 0; v < t.what.variables; ++v) m.read(v);  // a copy that must not be used afterwards
      m.barrier();
      auto& mine = registers[m.round][n.id()];
      mine = litmus::perform(m, t.what, t.by, orders[m.round], n.id());
      m.barrier();
      if (n.id() == o.nodes - 1)
        for (std::uint32_t v = 0; v < t.what.variables; ++v) mine.push_back(m.read(v));
      m.barrier();
      c.time().progress();
    }
  });
  run_result result{c.time().failure(), {}};
  for (const auto& of_round : registers) {
    litmus::outcome all;
    for (const auto& of_node : of_round) all.insert(all.end(), of_node.begin(), of_node.end());
    result.outcomes.push_back(std::move(all));
  }
  return result;
}

// The outcome depends on the schedule: all that are allowed, and no other.
std::optional<std::string> run_free(const test& t, const std::string& protocol, report& r) {
  auto missing = litmus::allowed(t.what);
  const auto all = missing;
  const std::vector<interleaving> none(rounds);
  for (std::uint64_t seed = 1; seed <= most_runs && !missing.empty(); ++seed) {
    r.at(seed);
    const auto result = run_once(t, protocol, none, seed);
    if (result.failure) return format("seed %llu: %s", static_cast<unsigned long long>(seed), result.failure->c_str());
    for (const auto& o : result.outcomes) {
      if (!all.contains(o))
        return format("seed %llu: outcome %s", static_cast<unsigned long long>(seed), litmus::to_string(o).c_str());
      missing.erase(o);
    }
  }
  if (missing.empty()) return std::nullopt;
  return format("%zu of %zu allowed outcomes were not seen, as %s", missing.size(), all.size(),
                litmus::to_string(*missing.begin()).c_str());
}

// Every order of the accesses, and each has one outcome.
std::optional<std::string> run_ordered(const test& t, const std::string& protocol, report& r) {
  const auto all = litmus::interleavings(t.what);
  std::uint64_t seed = 0;
  for (std::size_t at = 0; at < all.size(); at += rounds) {
    std::vector<interleaving> orders;
    for (std::uint32_t i = 0; i < rounds; ++i) orders.push_back(all[(at + i) % all.size()]);
    r.at(++seed);
    const auto result = run_once(t, protocol, orders, seed);
    if (result.failure) return format("seed %llu: %s", static_cast<unsigned long long>(seed), result.failure->c_str());
    for (std::uint32_t i = 0; i < rounds; ++i)
      if (const auto expected = litmus::outcome_of(t.what, orders[i]); result.outcomes[i] != expected)
        return format("seed %llu: outcome %s instead of %s", static_cast<unsigned long long>(seed),
                      litmus::to_string(result.outcomes[i]).c_str(), litmus::to_string(expected).c_str());
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> run_litmus(const std::string& protocol) {
  std::size_t tests = 0;
  for (const shape& s : litmus::shapes())
    for (const auto by : litmus::synchronisations)
      for (const auto where : litmus::places) {
        const test t{s, by, where};
        const auto failed = apart::run(longest_test, [&](report& r) {
          if (const auto wrong = litmus::ordered(by) ? run_ordered(t, protocol, r) : run_free(t, protocol, r)) r.failed(*wrong);
        });
        if (failed) return format("%s: %s: %s", protocol.c_str(), t.text().c_str(), failed->how.c_str());
        ++tests;
      }
  std::printf("%s: %zu litmus tests: no outcome that is not allowed, and every allowed one seen\n", protocol.c_str(), tests);
  return std::nullopt;
}

}  // namespace dst
