// A small seeded generator (xoshiro256**, Blackman and Vigna 2018) for tests, fault injection and benchmarks: the same seed gives the
// same sequence on every machine. Not for secrets: those come from libsodium.
#pragma once

#include <bit>
#include <cstdint>

namespace weft::base {

class random {
 public:
  explicit random(std::uint64_t seed) {
    for (auto& s : state_) {  // splitmix64 spreads the seed
      seed += 0x9e3779b97f4a7c15u;
      std::uint64_t z = seed;
      z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
      z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
      s = z ^ (z >> 31);
    }
  }

  std::uint64_t next() {
    const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9, t = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  // Uniform in [0, bound); bound must not be 0.
  std::uint64_t below(std::uint64_t bound) { return static_cast<std::uint64_t>((static_cast<wide>(next()) * bound) >> 64); }
  std::uint64_t between(std::uint64_t low, std::uint64_t high) { return low + below(high - low + 1); }
  double unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
  bool chance(double probability) { return unit() < probability; }

  using result_type = std::uint64_t;
  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return ~result_type{0}; }
  result_type operator()() { return next(); }

 private:
  __extension__ using wide = unsigned __int128;
  std::uint64_t state_[4];
};

}  // namespace weft::base
