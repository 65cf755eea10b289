// The elliptic solver of ocean: (Laplacian - a^-2) psi = source on a square basin, psi = 0 on its walls, by multigrid, until the
// residual is small.
//
// Values belong to the middles of square cells; the walls are half a cell away from the outermost ones. The value beyond a wall is
// minus the one before it, so that it is 0 on the wall: cells at a wall have a heavier diagonal instead. A coarser grid's cell is
// four cells of the finer one. Grids are distributed in blocks of rows; a worker writes its own rows and reads those next to them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <deque>

#include "bands.h"
#include "v_cycle.h"

namespace app {

// Cells 1 to n in both directions, and a border around them.
template <typename Where>
class field : public bands<double, Where> {
 public:
  field(std::size_t n, std::size_t workers, bool packed) : bands<double, Where>(n + 2, n + 2, workers, packed) {}
};

template <typename Where>
class elliptic_solver {
 public:
  using worker = typename Where::worker;

  // Together. `width` of a cell and `radius` (a) in the same unit; an infinite radius gives Poisson's equation. `packed`: see bands.h.
  elliptic_solver(std::size_t n, double width, double radius, std::size_t workers, bool packed) : cycle_(grids_, 2, 10) {
    const auto add = [&](std::size_t cells, double wide) {
      grids_.emplace_back(cells, wide, 1 / (radius * radius), workers_for(cells * cells, workers), packed);
    };
    add(n, width);
    while (grids_.back().n % 2 == 0) add(grids_.back().n / 2, 2 * grids_.back().width);
  }

  // Where the source is to be put and the solution is found; the solution is also where the next search begins. The borders stay 0.
  const field<Where>& source() const noexcept { return grids_.front().source; }
  const field<Where>& solution() const noexcept { return grids_.front().solution; }

  // By every worker, with the others, after they have put the source: V-cycles, until no residual is larger than `tolerance` of the
  // largest source. Returns how many.
  std::size_t solve(double tolerance, worker& me) const {
    const double largest = largest_of(grids_.front().source, me);
    for (std::size_t cycles = 0;; ++cycles) {
      for_rows_of(grids_.front(), me, [&](std::size_t i) { grids_.front().find_residual(i); });
      if (!(largest_of(grids_.front().residual, me) > tolerance * largest) || cycles == most_cycles) return cycles;
      cycle_.run(me);
    }
  }

  static constexpr std::size_t most_cycles = 100;

 private:
  struct grid {
    // Together.
    grid(std::size_t n_, double width_, double screening_, std::size_t workers, bool packed)
        : n(n_),
          width(width_),
          screening(screening_ * width * width),
          solution(n, workers, packed),
          source(n, workers, packed),
          residual(n, workers, packed) {}

    std::size_t points() const noexcept { return n * n; }
    template <typename Worker>
    auto rows_of(const Worker& me) const noexcept {
      return inner_share_of(me, n + 2);
    }

    bool at_wall(std::size_t i) const noexcept { return i == 1 || i == n; }
    double diagonal(std::size_t i, std::size_t j) const noexcept {
      // A basin of one cell has two walls in each direction.
      const double walls = n == 1 ? 4 : at_wall(i) + at_wall(j);
      return 4 + walls + screening;
    }
    double neighbours(std::size_t i, std::size_t j) const noexcept {
      return (solution.row(i - 1)[j] + solution.row(i + 1)[j]) + (solution.row(i)[j - 1] + solution.row(i)[j + 1]);
    }

    void relax(std::size_t i, std::size_t colour) const {
      for (std::size_t j = 1 + (i + colour) % 2; j <= n; j += 2)
        solution.row(i)[j] = (neighbours(i, j) - width * width * source.row(i)[j]) / diagonal(i, j);
    }
    void find_residual(std::size_t i) const {
      const double inverse = 1 / (width * width);
      for (std::size_t j = 1; j <= n; ++j)
        residual.row(i)[j] = source.row(i)[j] - (neighbours(i, j) - diagonal(i, j) * solution.row(i)[j]) * inverse;
    }

    // The mean of the four cells that make one of this grid.
    void take_residual(std::size_t i, const grid& finer) const {
      const double *above = finer.residual.row(2 * i - 1), *below = finer.residual.row(2 * i);
      for (std::size_t j = 1; j <= n; ++j) {
        source.row(i)[j] = 0.25 * ((above[2 * j - 1] + above[2 * j]) + (below[2 * j - 1] + below[2 * j]));
        solution.row(i)[j] = 0;
      }
    }
    // Bilinear: 3/4 of the coarse cell that this one lies in and 1/4 of the next, in both directions.
    void add_correction(std::size_t i, const grid& coarser) const {
      const std::size_t near_row = (i + 1) / 2, next_row = i % 2 == 0 ? near_row + 1 : near_row - 1;
      for (std::size_t j = 1; j <= n; ++j) {
        const std::size_t near = (j + 1) / 2, next = j % 2 == 0 ? near + 1 : near - 1;
        solution.row(i)[j] += 0.5625 * coarser.beyond_walls(near_row, near) +
                              0.1875 * (coarser.beyond_walls(near_row, next) + coarser.beyond_walls(next_row, near)) +
                              0.0625 * coarser.beyond_walls(next_row, next);
      }
    }
    double beyond_walls(std::size_t i, std::size_t j) const noexcept {
      const std::size_t row = std::clamp<std::size_t>(i, 1, n), column = std::clamp<std::size_t>(j, 1, n);
      const double value = solution.row(row)[column];
      return (row != i) != (column != j) ? -value : value;
    }

    const std::size_t n;
    const double width, screening;  // screening: what it adds to the diagonal, the square of width over radius
    const field<Where> solution, source, residual;
  };

  // The largest of numbers is the same in any order.
  static double largest_of(const field<Where>& f, worker& me) {
    const std::size_t n = f.rows() - 2;
    const auto [first, last] = inner_share_of(me, n + 2);
    double mine = 0;
    for (std::size_t i = first; i < last; ++i)
      for (std::size_t j = 1; j <= n; ++j) mine = std::max(mine, std::abs(f.row(i)[j]));
    return me.reduce(mine, [](double a, double b) { return std::max(a, b); });
  }

  std::deque<grid> grids_;  // the finest first; they are not movable
  v_cycle<grid> cycle_;
};

}  // namespace app
