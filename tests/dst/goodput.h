// How much of the bandwidth is left when datagrams are lost at random: a bulk transfer over a simulated wire with a rate and a delay.
#pragma once

#include "base/clock.h"

namespace dst {

struct goodput_options {
  double loss = 0;                  // each way
  double bytes_per_nanosecond = 8;  // of the wire
  weft::base::nanoseconds one_way = 25 * weft::base::microsecond;
  weft::base::nanoseconds time = 100 * weft::base::millisecond;
  unsigned long long seed = 1;
};

// Record bytes delivered per nanosecond, that is, GB/s.
double goodput(const goodput_options& options);

}  // namespace dst
