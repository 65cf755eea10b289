// A vector of doubles as wide as the processor that the program is compiled for, and what the compilers' own vectors lack.
#pragma once

#include <cmath>
#include <cstddef>

namespace app {

#if defined(__AVX512F__)
inline constexpr std::size_t lanes = 8;
#elif defined(__AVX__)
inline constexpr std::size_t lanes = 4;
#else
inline constexpr std::size_t lanes = 2;
#endif
typedef double vector __attribute__((vector_size(lanes * sizeof(double))));

// The same names for one number and for many, so that a formula can be written once.
inline double root_of(double x) {
  return std::sqrt(x);
}
inline vector root_of(vector x) {
  for (std::size_t l = 0; l < lanes; ++l) x[l] = std::sqrt(x[l]);
  return x;
}
inline double between_zero_and_one(double x) {
  return x < 0 ? 0 : x > 1 ? 1 : x;
}
inline vector between_zero_and_one(vector x) {
  const vector zero{}, one = zero + 1;
  x = x < zero ? zero : x;
  return x > one ? one : x;
}

}  // namespace app
