// mgrid: the Poisson equation on the unit cube by multigrid, 64x64x32 points, 2 iterations with 5 relaxations on each grid in
// Cashmere 3.1. A simplified form of the multigrid kernel of the NAS Parallel Benchmarks, with its charges (ten of +1 and ten of -1
// at random points) and its borders: what leaves the cube on one side comes in on the other.
//
// An iteration is a V-cycle (v_cycle.h) over grids each of which has half the points of the one before it in every direction.
// Relaxation is red-black with over-relaxation;
// the residual goes down by full weighting, the correction comes up by trilinear interpolation.
// `--by-residual` relaxes as the kernel of NAS does: finds the residual of all points, direction by direction, and then adds a multiple of it to
// the solution (of NAS's smoother the point itself only). Both go through all points one after another, and write each.
//
// Every grid is distributed in blocks of planes, or with `--bars` of planes' rows; a worker writes its own rows and reads those next to
// them. Each point's new value is made from the same numbers in the same order whoever makes it, so the result does not depend on the
// workers.
//
//   weft run -n 4 build/bin/mgrid --planes 64 --rows 64 --columns 32 --verify
#include <weft/weft.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <vector>

#include "cubes.h"
#include "options.h"
#include "random.h"
#include "report.h"
#include "steps.h"
#include "v_cycle.h"

namespace {

constexpr double omega = 1.15;       // of the over-relaxation: as good as it gets for red-black smoothing in three dimensions
constexpr double damping = 6.0 / 7;  // of relaxation by the residual: the best for the Laplacian in three dimensions
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
  bool bars = false, by_residual = false;
};

std::size_t before(std::size_t i, std::size_t n) {
  return i == 0 ? n - 1 : i - 1;
}
std::size_t after(std::size_t i, std::size_t n) {
  return i + 1 == n ? 0 : i + 1;
}

// One of the grids: a solution, what its Laplacian shall be, and the residual. Its rows are numbered worker by worker.
template <typename Where>
struct grid {
  using values = app::cubes<double, Where>;

  // Together.
  grid(const shape& s_, const problem& p, std::size_t workers)
      : s(s_),
        by_residual(p.by_residual),
        by(p.bars ? app::division::in_bars(workers) : app::division::in_planes(workers)),
        solution({s.columns, s.rows, s.planes}, by, workers),
        source({s.columns, s.rows, s.planes}, by, workers),
        residual({s.columns, s.rows, s.planes}, by, workers) {
    for (std::size_t w = 0; w < workers; ++w) {
      first_row.push_back(places.size());
      const auto [first_plane, last_plane] = by.share_of(w, 2, s.planes);
      const auto [first, last] = by.share_of(w, 1, s.rows);
      for (std::size_t i = first_plane; i < last_plane; ++i)
        for (std::size_t j = first; j < last; ++j) places.push_back({i, j});
    }
    first_row.push_back(places.size());
  }

  std::size_t points() const noexcept { return s.points(); }
  template <typename Worker>
  std::pair<std::size_t, std::size_t> rows_of(const Worker& me) const noexcept {
    if (me.rank() + 1 >= first_row.size()) return {0, 0};  // of a small grid
    return {first_row[me.rank()], first_row[me.rank() + 1]};
  }

  // The Laplacian's weights in the three directions: the squares of the numbers of points on a side of length 1.
  double along_planes() const noexcept { return static_cast<double>(s.planes * s.planes); }
  double along_rows() const noexcept { return static_cast<double>(s.rows * s.rows); }
  double along_columns() const noexcept { return static_cast<double>(s.columns * s.columns); }
  double diagonal() const noexcept { return 2 * (along_planes() + along_rows() + along_columns()); }

  struct place {
    std::size_t plane, row;
  };
  static double* row(const values& of, const place& p) noexcept { return &of.at(0, p.row, p.plane); }
  double* row(const values& of, std::size_t r) const noexcept { return row(of, places[r]); }

  // Calls visit(column, neighbours) for every point of a row from column `first` on in steps of `stride`, with the weighted sum of the
  // six solutions next to it.
  template <typename Visit>
  void for_points(const place& p, std::size_t first, std::size_t stride, Visit&& visit) const {
    const auto [i, j] = p;
    const double *own = row(solution, p), *above = row(solution, {before(i, s.planes), j}),
                 *below = row(solution, {after(i, s.planes), j}), *back = row(solution, {i, before(j, s.rows)}),
                 *front = row(solution, {i, after(j, s.rows)});
    const double planes_weigh = along_planes(), rows_weigh = along_rows(), columns_weigh = along_columns();
    const auto visit_column = [&](std::size_t k, double sides) {
      visit(k, planes_weigh * (above[k] + below[k]) + rows_weigh * (back[k] + front[k]) + columns_weigh * sides);
    };
    std::size_t k = first;
    if (k == 0) {
      visit_column(0, own[s.columns - 1] + own[1]);
      k = stride;
    }
    for (; k + 1 < s.columns; k += stride) visit_column(k, own[k - 1] + own[k + 1]);
    if (k < s.columns) visit_column(k, own[k - 1] + own[0]);
  }

  void relax(std::size_t r, std::size_t half) const {
    if (!by_residual)
      relax_colour(r, half);
    else if (half == 0)
      find_residual(r);
    else
      add_residual(r);
  }

  void relax_colour(std::size_t r, std::size_t colour) const {
    const place p = places[r];
    double* own = row(solution, p);
    const double *wanted = row(source, p), inverse = 1 / diagonal();
    for_points(p, (p.plane + p.row + colour) % 2, 2,
               [&](std::size_t k, double neighbours) { own[k] += omega * ((neighbours - wanted[k]) * inverse - own[k]); });
  }

  void find_residual(std::size_t r) const {
    if (by_residual) return find_residual_by_directions(r);
    const double *own = row(solution, r), *wanted = row(source, r), middle = diagonal();
    double* __restrict left = row(residual, r);
    for_points(places[r], 0, 1, [&](std::size_t k, double neighbours) { left[k] = wanted[k] - (neighbours - middle * own[k]); });
  }

  void find_residual_by_directions(std::size_t r) const {
    const auto [i, j] = places[r];
    const std::size_t last = s.columns - 1;
    const double *own = row(solution, r), *wanted = row(source, r), middle = diagonal(), weight = along_columns();
    double* __restrict left = row(residual, r);
    const auto begin = [&](std::size_t k, double sides) { left[k] = wanted[k] + middle * own[k] - weight * sides; };
    begin(0, own[last] + own[1]);
    for (std::size_t k = 1; k < last; ++k) begin(k, own[k - 1] + own[k + 1]);
    begin(last, own[last - 1] + own[0]);
    subtract(left, along_planes(), row(solution, {before(i, s.planes), j}), row(solution, {after(i, s.planes), j}));
    subtract(left, along_rows(), row(solution, {i, before(j, s.rows)}), row(solution, {i, after(j, s.rows)}));
  }

  void subtract(double* __restrict left, double weight, const double* from, const double* and_from) const {
    for (std::size_t k = 0; k < s.columns; ++k) left[k] -= weight * (from[k] + and_from[k]);
  }

  void add_residual(std::size_t r) const {
    double* own = row(solution, r);
    const double *left = row(residual, r), weight = damping / diagonal();
    for (std::size_t k = 0; k < s.columns; ++k) own[k] -= weight * left[k];
  }

  // A row of this grid's source from the finer grid's residual: each point from the 27 around it.
  void take_residual(std::size_t r, const grid& finer) const {
    const auto [i, j] = places[r];
    double* to = row(source, r);
    std::fill_n(to, s.columns, 0.0);
    std::fill_n(row(solution, r), s.columns, 0.0);
    const auto& f = finer.s;
    const std::size_t near[3] = {before(2 * i, f.planes), 2 * i, 2 * i + 1}, rows[3] = {before(2 * j, f.rows), 2 * j, 2 * j + 1};
    for (std::size_t a = 0; a < 3; ++a)
      for (std::size_t b = 0; b < 3; ++b) {
        const double* from = row(finer.residual, {near[a], rows[b]});
        const double weight = (a == 1 ? 0.5 : 0.25) * (b == 1 ? 0.5 : 0.25);
        for (std::size_t k = 0; k < s.columns; ++k)
          to[k] += weight * (0.5 * from[2 * k] + 0.25 * (from[before(2 * k, f.columns)] + from[2 * k + 1]));
      }
  }

  // Adds the coarser grid's solution to a row: each point the mean of the coarse points around it.
  void add_correction(std::size_t r, const grid& coarser) const {
    const auto [i, j] = places[r];
    const auto& c = coarser.s;
    const auto around = [](std::size_t x, std::size_t n) { return x % 2 == 0 ? x / 2 : after(x / 2, n); };
    const auto coarse = [&](std::size_t plane, std::size_t of) -> const double* { return row(coarser.solution, {plane, of}); };
    const std::size_t beneath = around(i, c.planes), beside = around(j, c.rows);
    const double *back = coarse(i / 2, j / 2), *front = coarse(i / 2, beside), *back_below = coarse(beneath, j / 2),
                 *front_below = coarse(beneath, beside);
    double* own = row(solution, r);
    for (std::size_t k = 0; k < s.columns; ++k) {
      const std::size_t l = k / 2, m = around(k, c.columns);
      own[k] += 0.125 * (((back[l] + back[m]) + (front[l] + front[m])) +
                         ((back_below[l] + back_below[m]) + (front_below[l] + front_below[m])));
    }
  }

  const shape s;
  const bool by_residual;
  const app::division by;
  const values solution, source, residual;
  std::vector<place> places;           // of rows
  std::vector<std::size_t> first_row;  // by worker, and one more
};

template <typename Where>
class multigrid {
 public:
  // Together.
  multigrid(const problem& p, std::size_t workers) : cycle_(grids_, p.relaxations, p.relaxations) {
    const auto add = [&](const shape& s) { grids_.emplace_back(s, p, app::workers_for(s.points(), workers)); };
    add(p.finest);
    while (grids_.back().s.can_halve()) add(grids_.back().s.halved());
  }

  const grid<Where>& finest() const noexcept { return grids_.front(); }

  // --- by every worker, with the others ---

  using worker = typename Where::worker;

  void initialise(std::uint64_t seed, worker& me) const {
    for (const auto& g : grids_)
      for_rows_of(g, me, [&](std::size_t r) {
        for (const auto* values : {&g.solution, &g.source, &g.residual}) std::fill_n(g.row(*values, r), g.s.columns, 0.0);
      });
    for_rows_of(finest(), me, [&](std::size_t r) { add_charges(seed, r); });
    me.barrier();
  }

  void cycle(worker& me) const { cycle_.run(me); }

  // The largest of the finest grid's points.
  double residual(worker& me) const {
    double largest = 0;
    for_rows_of(finest(), me, [&](std::size_t r) {
      finest().find_residual(r);
      const double* left = finest().row(finest().residual, r);
      for (std::size_t k = 0; k < finest().s.columns; ++k) largest = std::max(largest, std::abs(left[k]));
    });
    return me.reduce(largest, [](double a, double b) { return std::max(a, b); });
  }

  // A worker's part.
  std::uint64_t checksum(const worker& me) const {
    const auto& s = finest().s;
    app::checksum sum;
    for_rows_of(finest(), me, [&](std::size_t r) {
      const auto [i, j] = finest().places[r];
      for (std::size_t k = 0; k < s.columns; ++k) sum.add((i * s.rows + j) * s.columns + k, finest().row(finest().solution, r)[k]);
    });
    return sum.value();
  }

 private:
  void add_charges(std::uint64_t seed, std::size_t r) const {
    const auto& s = finest().s;
    const auto [i, j] = finest().places[r];
    for (std::size_t n = 0; n < charges; ++n)
      if (const std::size_t at = app::random_bits(seed, n) % s.points(); at / s.columns == i * s.rows + j)
        finest().row(finest().source, r)[at % s.columns] += n % 2 == 0 ? 1 : -1;
  }

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
  for (std::size_t i = 0; i < p.finest.planes; ++i)
    for (std::size_t j = 0; j < p.finest.rows; ++j)
      for (std::size_t k = 0; k < p.finest.columns; ++k)
        if (is.finest().solution.at(k, j, i) != expected.finest().solution.at(k, j, i))
          return "the solution at " + std::to_string(i) + ", " + std::to_string(j) + ", " + std::to_string(k) + " is another";
  return {};
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
    const auto sum = me.sum(all.checksum(me));
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
  o.number("--planes", s.planes, "points in the first direction", {4, 4096});
  o.number("--rows", s.rows, "points in the second direction", {4, 4096});
  o.number("--columns", s.columns, "points in the third direction", {4, 4096});
  o.number("--cycles", p.cycles, "from the finest grid to the coarsest and back", {1, 1000000});
  o.number("--relaxations", p.relaxations, "of each grid on the way down and again on the way up", {1, 1000});
  o.flag("--bars", p.bars, "distribute planes and rows, instead of planes only");
  o.flag("--by-residual", p.by_residual, "relax all points by the residual, instead of red and black ones in turn");
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
