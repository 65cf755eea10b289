// Random numbers by index: every worker computes those of its own part, and the whole is the same for any number of workers.
#pragma once

#include <cstdint>

namespace app {

// The finaliser of splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
constexpr std::uint64_t mixed(std::uint64_t x) noexcept {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

constexpr std::uint64_t random_bits(std::uint64_t seed, std::uint64_t index) noexcept {
  return mixed(mixed(seed) + (index + 1) * 0x9e3779b97f4a7c15u);
}

// In [0, 1).
constexpr double random_unit(std::uint64_t seed, std::uint64_t index) noexcept {
  return static_cast<double>(random_bits(seed, index) >> 11) * 0x1p-53;
}

}  // namespace app
