// The input of gauss and lu, and the sequential elimination that both are verified against.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "random.h"

namespace app {

// Random, with a diagonal that outweighs its row: elimination without pivoting is stable.
inline double dense_element(std::uint64_t seed, std::size_t n, std::size_t i, std::size_t j) noexcept {
  return random_unit(seed, i * n + j) + (i == j ? static_cast<double>(n) : 0);
}

// In place, one column after the other: the multipliers below the diagonal, the eliminated matrix on and above it.
inline std::vector<double> eliminated(std::uint64_t seed, std::size_t n) {
  std::vector<double> a(n * n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) a[i * n + j] = dense_element(seed, n, i, j);
  for (std::size_t k = 0; k < n; ++k)
    for (std::size_t i = k + 1; i < n; ++i) {
      double* __restrict row = &a[i * n];
      const double* pivot = &a[k * n];
      row[k] /= pivot[k];
      for (std::size_t j = k + 1; j < n; ++j) row[j] -= row[k] * pivot[j];
    }
  return a;
}

// Where at(i, j) first differs from the sequential run; exactly the same is expected.
template <typename At>
std::string difference_from_eliminated(std::uint64_t seed, std::size_t n, At&& at) {
  const auto expected = eliminated(seed, n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j)
      if (at(i, j) != expected[i * n + j])
        return "row " + std::to_string(i) + ", column " + std::to_string(j) + " is " + std::to_string(at(i, j)) + ", not " +
               std::to_string(expected[i * n + j]);
  return {};
}

}  // namespace app
