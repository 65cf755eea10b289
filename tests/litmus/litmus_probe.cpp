// The litmus tests on real nodes: every shape by every synchronisation by every place, some rounds each. Needs four nodes.
//   weft run -n 4 [options] litmus_probe [ROUNDS]
#include <weft/weft.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "litmus/shapes.h"

namespace {

using litmus::place;
using litmus::shape;
using litmus::synchronisation;

constexpr std::uint32_t most_registers = 8, most_flags = 16, most_locks = 4;

// The same numbers on every node.
std::uint64_t mix(std::uint64_t v) {
  v = (v ^ v >> 30) * 0xbf58476d1ce4e5b9u;
  return (v ^ v >> 27) * 0x94d049bb133111ebu >> 16;
}

struct objects {
  std::array<weft::mutex, most_locks> locks;
  std::array<weft::flag, most_flags> flags;
};

struct machine {
  objects& shared;
  const shape& what;
  place where;
  std::span<unsigned char> memory;
  std::uint64_t round;  // of all tests
  std::uint64_t noise;

  std::uint32_t size() const { return what.bytes ? 1 : 4; }
  void dawdle() {
    const auto until = std::chrono::steady_clock::now() + std::chrono::nanoseconds((noise = mix(noise + 1)) % 20'000);
    while (std::chrono::steady_clock::now() < until) {
    }
  }
  std::uint32_t read(std::uint32_t variable) {
    std::uint32_t value = 0;
    std::memcpy(&value, &memory[litmus::offset_of(what, where, variable)], size());
    return value;
  }
  void write(std::uint32_t variable, std::uint32_t value) {
    std::memcpy(&memory[litmus::offset_of(what, where, variable)], &value, size());
  }
  void lock(std::uint32_t k) {
    dawdle();
    shared.locks[k].lock();
  }
  void unlock(std::uint32_t k) { shared.locks[k].unlock(); }
  void barrier() { weft::barrier(); }
  void set(std::uint32_t k) { shared.flags[k].set(round); }
  void await(std::uint32_t k) { shared.flags[k].wait(round); }
};

struct totals {
  std::size_t tests = 0, seen = 0, allowed = 0;
};

// One round; what came out, on every node.
litmus::outcome play(weft::job& job, machine& m, synchronisation by, const litmus::interleaving& order) {
  for (std::uint32_t v = 0; v < m.what.variables && job.self() == 0; ++v) m.write(v, 0);
  weft::barrier();
  for (std::uint32_t v = 0; v < m.what.variables && (m.round + job.self()) % 3 != 0; ++v) m.read(v);  // old copies
  weft::barrier();
  const auto registers = litmus::perform(m, m.what, by, order, job.self());
  std::array<std::uint32_t, most_registers> mine{};
  std::copy(registers.begin(), registers.end(), mine.begin());
  std::vector<std::array<std::uint32_t, most_registers>> all(job.nodes());
  weft::space::here().gather(std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(all)));
  litmus::outcome o;
  for (std::size_t t = 0; t < m.what.threads.size(); ++t)
    for (std::size_t i = 0, reads = 0; i < m.what.threads[t].size(); ++i)
      if (!m.what.threads[t][i].write) o.push_back(all[t][reads++]);
  for (std::uint32_t v = 0; v < m.what.variables; ++v) o.push_back(m.read(v));
  weft::barrier();
  return o;
}

void run_test(weft::job& job, machine& m, synchronisation by, std::uint64_t rounds, totals& sum) {
  const auto orders = litmus::interleavings(m.what);
  const auto all = litmus::allowed(m.what);
  std::set<litmus::outcome> seen;
  for (std::uint64_t i = 0; i < rounds; ++i) {
    ++m.round;
    const auto& order = orders[mix(m.round) % orders.size()];
    const auto o = play(job, m, by, order);
    seen.insert(o);
    if (litmus::ordered(by) ? o == litmus::outcome_of(m.what, order) : all.contains(o)) continue;
    std::fprintf(stderr, "node %u: %s, %s, %s: outcome %s is not allowed\n", job.self(), m.what.name.c_str(), litmus::to_string(by),
                 litmus::to_string(m.where), litmus::to_string(o).c_str());
    std::exit(1);
  }
  ++sum.tests;
  sum.seen += seen.size();
  sum.allowed += all.size();
}

}  // namespace

int main(int argc, char** argv) {
  weft::job job(argc, argv);
  const std::uint64_t rounds = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 10;
  if (job.nodes() < 4) {
    std::fprintf(stderr, "litmus_probe needs four nodes\n");
    return 2;
  }
  auto& shared = weft::make<objects>();
  totals sum;
  std::uint64_t round = 0;
  for (const auto& s : litmus::shapes())
    for (const auto where : litmus::places) {
      const auto home = static_cast<weft::node_id>(sum.tests / 4 % job.nodes());
      const auto placed = where == place::pages_of_different_homes ? weft::placement::cyclic() : weft::placement::on(home);
      machine m{shared, s, where, weft::make_array<unsigned char>(litmus::array_bytes, placed), round, job.self()};
      for (const auto by : litmus::synchronisations) run_test(job, m, by, rounds, sum);
      round = m.round;
    }
  if (job.self() == 0)
    std::printf("litmus: %zu tests right on %u nodes; %zu of %zu allowed outcomes seen\n", sum.tests, job.nodes(), sum.seen,
                sum.allowed);
}
