// A box of points that is dealt to the workers in blocks: of planes, bars or boxes again. A worker's block begins at a page's start and lies on
// the worker's node: no page is written by two workers that keep to their own points.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "bands.h"

namespace app {

// Into how many parts each direction is divided, x first. Points are dealt to parts as worker::share_of deals them.
class division {
 public:
  static division in_planes(std::size_t workers) { return division({1, 1, workers}); }

  // As nearly equal parts of all directions, or of y and z, as the workers' number allows.
  static division in_cubes(std::size_t workers) { return evenly(workers, 3); }
  static division in_bars(std::size_t workers) { return evenly(workers, 2); }

  std::size_t parts(std::size_t d) const noexcept { return parts_[d]; }
  // Which part of direction d a worker has.
  std::size_t part_of(std::size_t worker, std::size_t d) const noexcept { return worker / stride(d) % parts_[d]; }
  // The worker with another part of direction d, and the same ones of the others.
  std::size_t with_part(std::size_t worker, std::size_t d, std::size_t part) const noexcept {
    return worker + (part - part_of(worker, d)) * stride(d);
  }
  // How far workers are apart that are next to each other in direction d.
  std::size_t stride(std::size_t d) const noexcept { return d == 0 ? 1 : d == 1 ? parts_[0] : parts_[0] * parts_[1]; }

  // A worker's points of n, in direction d.
  std::pair<std::size_t, std::size_t> share_of(std::size_t worker, std::size_t d, std::size_t n) const noexcept {
    const std::size_t part = part_of(worker, d);
    return {n * part / parts_[d], n * (part + 1) / parts_[d]};
  }

 private:
  explicit division(const std::array<std::size_t, 3>& parts) : parts_(parts) {}
  // Of the last directions.
  static division evenly(std::size_t workers, std::ptrdiff_t directions) {
    std::array<std::size_t, 3> parts{1, 1, 1};
    for (std::size_t factor = workers; workers > 1; --factor)
      for (; factor > 1 && is_prime(factor) && workers % factor == 0; workers /= factor)
        *std::min_element(parts.rbegin(), parts.rbegin() + directions) *= factor;
    return division(parts);
  }
  static bool is_prime(std::size_t n) {
    for (std::size_t d = 2; d * d <= n; ++d)
      if (n % d == 0) return false;
    return true;
  }

  std::array<std::size_t, 3> parts_;
};

template <typename T, typename Where>
class cubes {
 public:
  using sizes = std::array<std::size_t, 3>;  // points in x, y and z

  // Together.
  cubes(const sizes& n, const division& by, std::size_t workers) : blocks_(workers, volume(n, by), workers) {
    const std::size_t apart = workers == 1 ? 0 : static_cast<std::size_t>(bytes(1) - bytes(0));
    std::size_t within = sizeof(T);
    for (std::size_t d = 0; d < 3; ++d) {
      for (std::size_t part = 0; part < by.parts(d); ++part)
        for (std::size_t i = n[d] * part / by.parts(d); i < n[d] * (part + 1) / by.parts(d); ++i)
          offset_[d].push_back(part * by.stride(d) * apart + (i - n[d] * part / by.parts(d)) * within);
      within *= largest(n, by, d);
    }
  }

  T& at(std::size_t x, std::size_t y, std::size_t z) const noexcept {
    return *reinterpret_cast<T*>(bytes(0) + offset_[0][x] + offset_[1][y] + offset_[2][z]);
  }

 private:
  static std::size_t largest(const sizes& n, const division& by, std::size_t d) { return (n[d] + by.parts(d) - 1) / by.parts(d); }
  static std::size_t volume(const sizes& n, const division& by) {
    return largest(n, by, 0) * largest(n, by, 1) * largest(n, by, 2);
  }
  std::byte* bytes(std::size_t block) const noexcept { return reinterpret_cast<std::byte*>(blocks_.row(block)); }

  bands<T, Where> blocks_;              // one for each worker
  std::vector<std::size_t> offset_[3];  // bytes, by the place in each direction; their sum is the point's
};

}  // namespace app
