// The litmus tests: small programs with few outcomes, known by the names that the literature on memory models gives them. One table
// for the deterministic harness (dst --litmus) and for real processes (litmus_probe).
//
// Each access is synchronised, because weft promises something to race-free programs only:
//   one lock         all accesses under one mutex; any order of the accesses may come out, so a set of outcomes is allowed
//   lock a variable  each under its variable's mutex; likewise
//   barrier          a barrier between any two accesses, in an order that is chosen: one outcome is allowed
//   flag             a chain of flags in that order; likewise
// by where the variables lie: in one word, in one page, in two pages of one home, in pages of different homes.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace litmus {

struct op {
  bool write;
  std::uint32_t variable;
  std::uint32_t value;  // what is written
};

struct shape {
  std::string name;
  std::uint32_t variables;
  bool bytes;  // variables are neighbouring bytes, not words of four
  std::vector<std::vector<op>> threads;
};

const std::vector<shape>& shapes();

enum class synchronisation : std::uint8_t { one_lock, lock_a_variable, barrier, flag };
inline constexpr synchronisation synchronisations[] = {synchronisation::one_lock, synchronisation::lock_a_variable,
                                                       synchronisation::barrier, synchronisation::flag};
enum class place : std::uint8_t { one_word, one_page, pages_of_one_home, pages_of_different_homes };
inline constexpr place places[] = {place::one_word, place::one_page, place::pages_of_one_home, place::pages_of_different_homes};
const char* to_string(synchronisation s);
const char* to_string(place p);

// Whether the outcome depends on the schedule.
inline bool ordered(synchronisation s) {
  return s == synchronisation::barrier || s == synchronisation::flag;
}

// Where a variable lies: which of the two arrays, and at which byte. With pages_of_different_homes the pages of an array have homes by
// turns; otherwise all have one.
inline constexpr std::uint32_t array_bytes = 4 * 4096;
std::uint32_t offset_of(const shape& s, place p, std::uint32_t variable);

// What the reads found, thread by thread and in their order, and then what every variable held at the end.
using outcome = std::vector<std::uint32_t>;
std::string to_string(const outcome& o);

// An order of all accesses: which thread goes next.
using interleaving = std::vector<std::uint32_t>;
std::vector<interleaving> interleavings(const shape& s);
outcome outcome_of(const shape& s, const interleaving& order);
std::set<outcome> allowed(const shape& s);

// One thread's part. Machine: read(variable), write(variable, value), lock(k), unlock(k), barrier(), set(k), await(k), where locks and
// flags have numbers from 0 on and flags are fresh. A thread without accesses takes part with a number beyond the last.
template <typename Machine>
std::vector<std::uint32_t> perform(Machine& m, const shape& s, synchronisation by, const interleaving& order,
                                   std::uint32_t thread) {
  std::vector<std::uint32_t> registers;
  std::size_t next = 0;
  const auto access = [&] {
    const op& o = s.threads[thread][next++];
    if (o.write)
      m.write(o.variable, o.value);
    else
      registers.push_back(m.read(o.variable));
  };
  if (by == synchronisation::one_lock || by == synchronisation::lock_a_variable) {
    while (thread < s.threads.size() && next < s.threads[thread].size()) {
      const std::uint32_t lock = by == synchronisation::one_lock ? 0 : s.threads[thread][next].variable;
      m.lock(lock);
      access();
      m.unlock(lock);
    }
    return registers;
  }
  for (std::uint32_t turn = 0; turn < order.size(); ++turn) {
    const bool mine = order[turn] == thread;
    if (mine && by == synchronisation::flag && turn > 0) m.await(turn - 1);
    if (mine) access();
    if (mine && by == synchronisation::flag) m.set(turn);
    if (by == synchronisation::barrier) m.barrier();
  }
  return registers;
}

}  // namespace litmus
