// How long the peer takes to answer, and how long to wait for it: Jacobson's estimator, as in RFC 6298. Shared by both lanes, which
// share the path.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/clock.h"

namespace weft::reliable {

class round_trip {
 public:
  using nanoseconds = base::nanoseconds;

  round_trip(nanoseconds least, nanoseconds most) : least_(least), most_(most) {}

  // One measurement; never of a packet that was sent more than once (Karn), because nobody knows which copy was answered.
  void sample(nanoseconds measured) {
    if (!known()) {
      smoothed_ = std::max<nanoseconds>(measured, 1);
      deviation_ = measured / 2;
      fastest_ = measured;
      return;
    }
    deviation_ += (std::max(smoothed_ - measured, measured - smoothed_) - deviation_) / 4;
    smoothed_ = std::max<nanoseconds>(smoothed_ + (measured - smoothed_) / 8, 1);
    fastest_ = std::min(fastest_, measured);
  }

  bool known() const { return smoothed_ != 0; }
  nanoseconds smoothed() const { return smoothed_; }
  nanoseconds fastest() const { return fastest_; }

  // The retry timer after `expired` expiries in a row.
  nanoseconds retry_after(unsigned expired) const {
    const nanoseconds first =
        known() ? std::clamp(smoothed_ + 4 * deviation_, least_, most_) : std::clamp(first_guess, least_, most_);
    return expired >= 20 ? most_ : std::min(first << expired, most_);
  }

 private:
  static constexpr nanoseconds first_guess = 10 * base::millisecond;

  nanoseconds least_, most_;
  nanoseconds smoothed_ = 0, deviation_ = 0, fastest_ = 0;
};

}  // namespace weft::reliable
