// Time as the whole project measures it: nanoseconds on the monotonic clock, as a plain integer that state machines can be fed with.
#pragma once

#include <cstdint>
#include <ctime>

namespace weft::base {

using nanoseconds = std::int64_t;

inline constexpr nanoseconds microsecond = 1'000;
inline constexpr nanoseconds millisecond = 1'000'000;
inline constexpr nanoseconds second = 1'000'000'000;

inline nanoseconds now(clockid_t clock = CLOCK_MONOTONIC) noexcept {
  timespec t;
  clock_gettime(clock, &t);
  return static_cast<nanoseconds>(t.tv_sec) * second + t.tv_nsec;
}

// The same clock to some milliseconds, for a third of the price.
inline nanoseconds about_now() noexcept {
  return now(CLOCK_MONOTONIC_COARSE);
}

}  // namespace weft::base
