// A random program without data races: what each thread does, step by step, so that every byte it reads has exactly one value that it
// may have.
//
// Memory is made of cells: some bytes, next to one another on purpose. Between two barriers every cell has one rule: guarded by a
// mutex or a shared mutex; owned by a thread; not written; or written by its owner until a flag, a counter or a barrier of a group
// says so, and read by whoever has waited for that, directly or by way of others. Some cells are guarded by one mutex for good: they are
// for threads that do not come to the barriers.
//
// A program is made of units, which can be left out one by one without making a race or a wait that never ends.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <weft/detail/space.h>

#include "base/random.h"

namespace dst {

using weft::node_id;

struct cell {
  std::uint32_t array, offset, size;
};

struct access {
  std::uint32_t cell;
  bool write;
  std::uint64_t value;  // what the bytes written are made from; 0: zeroes
};

enum class step_kind : std::uint8_t {
  touch,        // accesses
  section,      // lock `object` (and `second`), accesses, unlock
  shared,       // the same with a shared mutex; writing if `value`
  set,          // accesses, then the flag `object`
  await,        // wait for the flag, then accesses
  add,          // accesses, then add to the counter `object`
  await_count,  // wait until the counter is at least `value`, then accesses
  group,        // accesses, then a barrier of `value` threads
  signal,       // under mutex `second`: accesses, then tell those who wait on condition `object`
  receive,      // under mutex `second`: wait on condition `object` until the signal has been given, then accesses
  allocate,     // a block of `value` bytes, kept in place `object`; filled
  give_back,    // looks at the block in place `object`, and frees it
  barrier,      // all
};

// Trying and timed ones try again until they have the lock; those who try once do without the accesses if they do not get it.
enum class lock_way : std::uint8_t { plain, trying, timed, once };

inline constexpr std::uint32_t unset = ~0u;

struct step {
  std::uint32_t unit;
  step_kind kind;
  std::uint32_t object = unset, second = unset;
  std::uint64_t value = 0;
  lock_way way = lock_way::plain;
  std::vector<access> accesses = {};
};

struct array {
  std::uint32_t bytes;
  weft::placement where;
};

struct program {
  node_id nodes = 2;
  std::vector<node_id> threads;  // the node of each; the first of every node is its main thread
  std::vector<bool> loose;       // by thread: it comes to no barrier of all, and uses what one mutex always guards
  std::vector<array> arrays;
  std::vector<cell> cells;
  std::vector<std::vector<step>> steps;           // by thread
  std::vector<std::vector<std::uint32_t>> needs;  // by unit: those it does not go without
  std::vector<bool> barriers;                     // by unit: whether it is a barrier, which only goes when nothing comes after it
  std::vector<bool> checkpoint;                   // by unit: a barrier at which everything is looked at
  std::uint32_t objects = 0;                      // of synchronisation
  std::uint32_t places = 0;                       // for blocks
  double pause_chance = 0;                        // of a node, at a step

  static program random(std::uint64_t seed);

  // Leaves out the units that are false in `kept`, those that need them, threads with nothing to do and barriers with nothing after
  // them. Other barriers stay: without them the rest would race.
  program only(std::vector<bool> kept) const;

  std::uint32_t units() const { return static_cast<std::uint32_t>(needs.size()); }
  std::string text() const;
};

std::string to_string(const step& s);

}  // namespace dst
