// Time as the whole project measures it: nanoseconds on the monotonic clock, as a plain integer that state machines can be fed with.
#pragma once

#include <cstdint>
#include <ctime>

namespace weft::base {

using nanoseconds = std::int64_t;

inline constexpr nanoseconds microsecond = 1'000;
inline constexpr nanoseconds millisecond = 1'000'000;
inline constexpr nanoseconds second = 1'000'000'000;

inline nanoseconds now() noexcept {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<nanoseconds>(t.tv_sec) * second + t.tv_nsec;
}

}  // namespace weft::base
