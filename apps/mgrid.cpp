// mgrid: the Poisson equation on the unit cube by multigrid, 64x64x32 points, 2 iterations with 5 relaxations on each grid in
// Cashmere 3.1. A simplified form of the multigrid kernel of the NAS Parallel Benchmarks, with its charges (ten of +1 and ten of -1
// at random points) and its borders: what leaves the cube on one side comes in on the other.
//
// An iteration is a V-cycle (v_cycle.h) over grids each of which has half the points of the one before it in every direction.
// Relaxation is red-black with over-relaxation;
// the residual goes down by full weighting, the correction comes up by trilinear interpolation.
//
// Every grid is distributed in blocks of planes; a worker writes its own planes and reads those next to them. Each point's new
// value is made from the same numbers in the same order whoever makes it, so the result does not depend on the workers.
//
//   weft run -n 4 build/bin/mgrid --planes 64 --rows 64 --columns 32 --verify
#include <weft/weft.h>

#include <algorithm>
#include <cmath>
#include <deque>

#include "bands.h"
#include "options.h"
#include "random.h"
#include "report.h"
#include "steps.h"
#include "v_cycle.h"

namespace {

constexpr double omega = 1.15;  // of the over-relaxation: as good as it gets for red-black smoothing in three dimensions
constexpr std::size_t charges = 20;

struct shape {
  std::size_t planes, rows, columns;

  // Red and black points alternate round the border if all sizes are even.
  bool can_halve() const noexcept { return planes % 4 == 0 && rows % 4 == 0 && columns % 4 == 0; }
  std::size_t plane() const noexcept { return rows * columns; }
  std::size_t points() const noexcept { return planes * plane(); }
  shape halved() const noexcept { return {planes / 2, rows / 2, columns / 2}; }
};

struct problem {
  shape finest{64, 64, 32};
  std::size_t cycles = 2, relaxations = 5;
};

std::size_t before(std::size_t i, std::size_t n) {
  return i == 0 ? n - 1 : i - 1;
}
std::size_t after(std::size_t i, std::size_t n) {
  return i + 1 == n ? 0 : i + 1;
}

// One of the grids: a solution, what its Laplacian shall be, and the residual.
template <typename Where>
struct grid {
  using planes = app::bands<double, Where>;

  // Together.
  grid(const shape& s_, std::size_t workers)
      : s(s_),
        solution(s.planes, s.plane(), workers),
        source(s.planes, s.plane(), workers),
        residual(s.planes, s.plane(), workers) {}

  std::size_t points() const noexcept { return s.points(); }
  template <typename Worker>
  auto rows_of(const Worker& me) const noexcept {
    return me.share_of(s.planes);
  }

  // The Laplacian's weights in the three directions: the squares of the numbers of points on a side of length 1.
  double along_planes() const noexcept { return static_cast<double>(s.planes * s.planes); }
  double along_rows() const noexcept { return static_cast<double>(s.rows * s.rows); }
  double along_columns() const noexcept { return static_cast<double>(s.columns * s.columns); }

  // Calls visit(point, neighbours): the place in plane i of every point from column `first(row)` on in steps of `stride`, and the
  // weighted sum of the six solutions next to it.
  template <typename First, typename Visit>
  void for_points(std::size_t i, First&& first, std::size_t stride, Visit&& visit) const {
    const double *own = solution.row(i), *above = solution.row(before(i, s.planes)), *below = solution.row(after(i, s.planes));
    for (std::size_t j = 0; j < s.rows; ++j) {
      const double *row = own + j * s.columns, *back = own + before(j, s.rows) * s.columns,
                   *front = own + after(j, s.rows) * s.columns;
      for (std::size_t k = first(j); k < s.columns; k += stride) {
        const std::size_t point = j * s.columns + k;
        visit(point, along_planes() * (above[point] + below[point]) + along_rows() * (back[k] + front[k]) +
                         along_columns() * (row[before(k, s.columns)] + row[after(k, s.columns)]));
      }
    }
  }
  double diagonal() const noexcept { return 2 * (along_planes() + along_rows() + along_columns()); }

  void relax(std::size_t i, std::size_t colour) const {
    double* own = solution.row(i);
    const double *wanted = source.row(i), inverse = 1 / diagonal();
    for_points(
        i, [&](std::size_t j) { return (i + j + colour) % 2; }, 2,
        [&](std::size_t point, double neighbours) { own[point] += omega * ((neighbours - wanted[point]) * inverse - own[point]); });
  }

  void find_residual(std::size_t i) const {
    double* left = residual.row(i);
    const double *own = solution.row(i), *wanted = source.row(i), middle = diagonal();
    for_points(
        i, [](std::size_t) { return 0; }, 1,
        [&](std::size_t point, double neighbours) { left[point] = wanted[point] - (neighbours - middle * own[point]); });
  }

  // This grid's plane i of the source from the finer grid's residual: each point from the 27 around it.
  void take_residual(std::size_t i, const grid& finer) const {
    double* to = source.row(i);
    std::fill_n(to, s.rows * s.columns, 0.0);
    std::fill_n(solution.row(i), s.rows * s.columns, 0.0);
    const auto& f = finer.s;
    const std::size_t near[3] = {before(2 * i, f.planes), 2 * i, 2 * i + 1};
    for (std::size_t a = 0; a < 3; ++a)
      for (std::size_t j = 0; j < s.rows; ++j) {
        const std::size_t rows[3] = {before(2 * j, f.rows), 2 * j, 2 * j + 1};
        for (std::size_t b = 0; b < 3; ++b) {
          const double* from = finer.residual.row(near[a]) + rows[b] * f.columns;
          const double weight = (a == 1 ? 0.5 : 0.25) * (b == 1 ? 0.5 : 0.25);
          for (std::size_t k = 0; k < s.columns; ++k)
            to[j * s.columns + k] += weight * (0.5 * from[2 * k] + 0.25 * (from[before(2 * k, f.columns)] + from[2 * k + 1]));
        }
      }
  }

  // Adds the coarser grid's solution to plane i: each point the mean of the coarse points around it.
  void add_correction(std::size_t i, const grid& coarser) const {
    const auto& c = coarser.s;
    const auto around = [](std::size_t x, std::size_t n) { return x % 2 == 0 ? x / 2 : after(x / 2, n); };
    const double *above = coarser.solution.row(i / 2), *below = coarser.solution.row(around(i, c.planes));
    double* own = solution.row(i);
    for (std::size_t j = 0; j < s.rows; ++j) {
      const std::size_t back = j / 2 * c.columns, front = around(j, c.rows) * c.columns;
      for (std::size_t k = 0; k < s.columns; ++k) {
        const std::size_t l = k / 2, r = around(k, c.columns);
        own[j * s.columns + k] += 0.125 * (((above[back + l] + above[back + r]) + (above[front + l] + above[front + r])) +
                                           ((below[back + l] + below[back + r]) + (below[front + l] + below[front + r])));
      }
    }
  }

  const shape s;
  const planes solution, source, residual;
};

template <typename Where>
class multigrid {
 public:
  // Together.
  multigrid(const problem& p, std::size_t workers) : cycle_(grids_, p.relaxations, p.relaxations) {
    const auto add = [&](const shape& s) { grids_.emplace_back(s, app::workers_for(s.points(), workers)); };
    add(p.finest);
    while (grids_.back().s.can_halve()) add(grids_.back().s.halved());
  }

  const grid<Where>& finest() const noexcept { return grids_.front(); }

  // --- by every worker, with the others ---

  using worker = typename Where::worker;

  void initialise(std::uint64_t seed, worker& me) const {
    for (const auto& g : grids_)
      for_rows_of(g, me, [&](std::size_t i) {
        for (const auto* planes : {&g.solution, &g.source, &g.residual}) std::fill_n(planes->row(i), planes->length(), 0.0);
      });
    const auto& g = finest();
    const auto [first, last] = me.share_of(g.s.planes);
    for (std::size_t n = 0; n < charges; ++n) {
      const std::size_t place = app::random_bits(seed, n) % (g.s.planes * g.source.length()), i = place / g.source.length();
      if (first <= i && i < last) g.source.row(i)[place % g.source.length()] += n % 2 == 0 ? 1 : -1;
    }
    me.barrier();
  }

  void cycle(worker& me) const { cycle_.run(me); }

  // The largest of the finest grid's points.
  double residual(worker& me) const {
    double largest = 0;
    for_rows_of(finest(), me, [&](std::size_t i) {
      finest().find_residual(i);
      for (std::size_t k = 0; k < finest().residual.length(); ++k)
        largest = std::max(largest, std::abs(finest().residual.row(i)[k]));
    });
    return me.reduce(largest, [](double a, double b) { return std::max(a, b); });
  }

 private:
  std::deque<grid<Where>> grids_;  // the finest first; they are not movable
  app::v_cycle<grid<Where>> cycle_;
};

// Exactly the sequential run's solution; and a solution, as every cycle must at least halve the residual.
std::string difference_from_sequential(const problem& p, std::uint64_t seed, const multigrid<app::together>& is, double reduction) {
  const multigrid<app::alone> expected(p, 1);
  app::alone::worker me;
  expected.initialise(seed, me);
  for (std::size_t cycle = 0; cycle < p.cycles; ++cycle) expected.cycle(me);
  if (!(reduction <= std::max(std::pow(0.5, static_cast<double>(p.cycles)), 1e-10)))
    return "the residual is still " + std::to_string(reduction) + " of what it was";
  return app::difference_between("the solution at", is.finest().solution, expected.finest().solution);
}

app::outcome run(const problem& p, const app::options& o) {
  weft::team team(o.threads);
  const multigrid<app::together> all(p, team.workers());
  app::outcome result;
  team.run([&](weft::worker& me) {
    o.place(me);
    all.initialise(o.seed, me);
    const double at_first = all.residual(me);
    const double seconds = app::seconds_of_steps(me, p.cycles, [&] { all.cycle(me); });
    const double reduction = all.residual(me) / at_first;
    const auto [first, last] = me.share_of(p.finest.planes);
    const auto sum = me.sum(app::checksum_of(all.finest().solution, first, last).value());
    if (me.rank() != 0) return;
    result = {seconds, app::hexadecimal(sum), o.verify ? difference_from_sequential(p, o.seed, all, reduction) : ""};
  });
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  weft::job job(argc, argv);
  app::options o("The Poisson equation on the unit cube by multigrid");
  problem p;
  auto& s = p.finest;
  o.number("--planes", s.planes, "points in the direction that is distributed", {4, 4096});
  o.number("--rows", s.rows, "points in the second direction", {4, 4096});
  o.number("--columns", s.columns, "points in the third direction", {4, 4096});
  o.number("--cycles", p.cycles, "from the finest grid to the coarsest and back", {1, 1000000});
  o.number("--relaxations", p.relaxations, "of each grid on the way down and again on the way up", {1, 1000});
  const auto status = o.parse(job, argc, argv, [&] {
    return s.planes % 2 + s.rows % 2 + s.columns % 2 != 0
               ? "--planes, --rows, --columns: even numbers, so that red and black alternate"
               : "";
  });
  if (status) return *status;
  const auto result = app::repeated(o, [&] { return run(p, o); });
  return app::report(job, o,
                     "mgrid " + std::to_string(s.planes) + "x" + std::to_string(s.rows) + "x" + std::to_string(s.columns) + ", " +
                         std::to_string(p.cycles) + " cycles",
                     result);
}
