// What is measured on a fabric, in which order, and how often.
//
// A schedule is groups of items. Within a group the items take turns, batch by batch of a sample (A, B, A, B, ...), so that what
// disturbs the machine disturbs all of them: what is to be compared is in one group. On a virtual machine the two processors may be
// hyperthreads of one core in one second and cores of their own in the next, which is why turns are short.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "bench/harness/measurement.h"
#include "bench/sides/operation.h"

namespace weft::bench {

// `memory` and `barrier` are about shared memory: their fabric is a system, as in "cashmere.shm".
enum class suite { everything, goodput, vmmc, senders, memory, barrier, contenders };
inline constexpr suite all_suites[] = {suite::everything, suite::goodput, suite::vmmc,      suite::senders,
                                       suite::memory,     suite::barrier, suite::contenders};

struct settings {
  unsigned repeat = 7;                                // samples
  base::nanoseconds sample = 40 * base::millisecond;  // how long one takes, about
  unsigned batches = 20;                              // a sample is the median of so many: short ones mostly escape interruptions
  bool quick = false;
};

enum class unit { nanoseconds, half_nanoseconds, gigabytes_per_second, per_second, count };

// One measurement that is taken from an operation's timing.
struct output {
  std::string name;
  double timing::*field;
  bench::unit unit;
};

struct item {
  std::string owner;  // the fabric, or "bare"
  std::string operation;
  std::size_t size;   // the operation's parameter
  std::size_t bytes;  // what one repetition moves; the size under which it is reported
  std::vector<output> outputs;
  bool settle = false;  // let the fabric fall asleep first; then turns are whole samples
};

using group = std::vector<item>;
using schedule = std::vector<group>;

schedule make_schedule(suite which, const std::string& fabric);
schedule make_vmmc_schedule(const std::string& fabric);
schedule make_memory_schedule(const std::string& system);

// Leaves the items for which `wanted` holds.
void keep(schedule& s, const std::function<bool(const item&)>& wanted);

// Outputs, by what becomes of the time.
output ns(std::string name, double timing::*field = &timing::whole);
output half(std::string name);
output rate(std::string name, double timing::*field = &timing::whole);
output bandwidth(std::string name, double timing::*field = &timing::whole);

// StarT-JR's Table 2: overheads of bursts, throughput of streams, by kind of message and lane. `kind` comes before the names of the
// operations, `blocks` before those of the operations that move blocks.
void add_table_2(schedule& s, const std::string& fabric, const std::string& kind, const std::string& blocks);

const char* name_of(suite which);

// How many samples a schedule takes in all, for the progress bar.
std::size_t samples_in(const schedule& s, const settings& how);

// On the leader. Calls `step` before each sample.
measurements perform(duo& d, const schedule& s, const settings& how, const std::function<void(const item&)>& step);

}  // namespace weft::bench
