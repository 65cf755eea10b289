// appbt: the flow of a viscous gas by implicit steps (Cashmere 3.1; the BT kernel of the NAS Parallel Benchmarks). The paper does not
// say how large the grid is.
//
// A step is implicit and factored by direction (Beam and Warming: An implicit factored scheme for the compressible Navier-Stokes
// equations, 1978): with R the right-hand side of the equations of appbt_flow.h, linearised with the derivatives of the fluxes,
//   (I - dt Rx') (I - dt Ry') (I - dt Rz') delta = dt (R(u) + forcing),  u += delta.
// Each factor is a system for every line of points in its direction: tridiagonal, in blocks of 5x5. The forcing is such that a known
// flow stands still; it also holds on the borders, and the steps approach it.
//
// The grid is distributed in blocks of planes. Right-hand sides and the sweeps in x and y stay in a worker's planes, apart from the
// planes next to them that are read. For the sweep in z the workers divide the rows instead: they read their rows of all planes, and
// write the result into an array whose planes are these rows. So pages are written at home only. A line's system is solved by one
// worker, always in the same way, so the result does not depend on the workers.
//
// `--pipeline` is the way of message-passing versions, and of the one for shared memory that came from them: the grid is distributed in
// cubes, everybody keeps to the own one, and all sweeps go through the workers, row by row, or by fewer lines at once. A worker eliminates its
// part of these lines when the one before has done so, and puts in the solution when the one after has.
//
//   weft run -n 4 build/bin/appbt --size 32 --verify
#include <weft/weft.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "appbt_flow.h"
#include "bands.h"
#include "cubes.h"
#include "options.h"
#include "report.h"
#include "steps.h"

namespace {

using namespace app::bt;

constexpr double time_step = 0.01;

struct problem {
  std::size_t size = 32, steps = 10;
  bool pipeline = false;
  std::size_t lines_together = 1024;  // in the pipeline: of a row, that are handed on at once
};

// How far a worker is in the pipeline of each direction: lines of all steps so far, each way.
struct progress_of_worker {
  struct alignas(64) each {
    weft::flag done;
  };
  each eliminated[3], solved[3];
};
using progress_of_all = std::vector<progress_of_worker, weft::allocator<progress_of_worker>>;

// --- one line of points ---

// Solves a tridiagonal system of blocks by elimination without pivoting.
class line {
 public:
  explicit line(std::size_t n) : x(n), n_(n), width_(1 / static_cast<double>(n - 1)), flux_(n), diffusing_(n), upper_(n) {}

  std::vector<state> x;  // at the inner points the right-hand side, and then the solution

  // The factor of direction d, with the states of the line's points.
  template <typename StateAt>
  void solve(std::size_t d, StateAt&& state_at) {
    x[0] = x[n_ - 1] = {};
    upper(0) = {};
    eliminate(d, 1, n_ - 1, state_at);
    substitute(1, n_ - 1);
  }

  // What stands to the right of a point's diagonal after the elimination.
  matrix& upper(std::size_t i) noexcept { return upper_[i]; }

  // The same in parts, for points [first, last): x and upper() of the point before are there already, and then x of the one after.
  template <typename StateAt>
  void eliminate(std::size_t d, std::size_t first, std::size_t last, StateAt&& state_at) {
    for (std::size_t i = first - 1; i <= last; ++i) {
      const state u = state_at(i);
      flux_[i] = flux_derivatives(u, d);
      diffusing_[i] = diffusing_derivatives(u, d);
    }
    for (std::size_t i = first; i < last; ++i) {
      matrix diagonal = block(i, 0, 2);
      const matrix lower = block(i - 1, -1, -1);
      for (std::size_t r = 0; r < components; ++r) {
        diagonal[r][r] += 1;
        for (std::size_t m = 0; m < components; ++m) {
          x[i][r] -= lower[r][m] * x[i - 1][m];
          for (std::size_t c = 0; c < components; ++c) diagonal[r][c] -= lower[r][m] * upper_[i - 1][m][c];
        }
      }
      upper_[i] = block(i + 1, 1, -1);
      divide(diagonal, upper_[i], x[i]);
    }
  }

  void substitute(std::size_t first, std::size_t last) {
    for (std::size_t i = last; i-- > first;)
      for (std::size_t r = 0; r < components; ++r)
        for (std::size_t c = 0; c < components; ++c) x[i][r] -= upper_[i][r][c] * x[i + 1][c];
  }

 private:
  // What point i contributes to an equation: its flux as a first difference and its diffusion as a second one.
  matrix block(std::size_t i, double first, double second) const noexcept {
    const double of_flux = first * time_step / (2 * width_), of_diffusion = second * time_step / (width_ * width_);
    matrix m;
    for (std::size_t r = 0; r < components; ++r) {
      for (std::size_t c = 0; c < components; ++c) m[r][c] = of_flux * flux_[i][r][c] + of_diffusion * diffusing_[i][r][c];
      m[r][r] += of_diffusion * diffusion;
    }
    return m;
  }

  // Solves for what stands to the right of the diagonal's block.
  static void divide(matrix& diagonal, matrix& right, state& side) noexcept {
    for (std::size_t p = 0; p < components; ++p) {
      const double inverse = 1 / diagonal[p][p];
      for (std::size_t c = p + 1; c < components; ++c) diagonal[p][c] *= inverse;
      for (auto& value : right[p]) value *= inverse;
      side[p] *= inverse;
      for (std::size_t r = 0; r < components; ++r) {
        if (r == p) continue;
        const double factor = diagonal[r][p];
        for (std::size_t c = p + 1; c < components; ++c) diagonal[r][c] -= factor * diagonal[p][c];
        for (std::size_t c = 0; c < components; ++c) right[r][c] -= factor * right[p][c];
        side[r] -= factor * side[p];
      }
    }
  }

  std::size_t n_;
  double width_;
  std::vector<matrix> flux_, diffusing_, upper_;
};

// --- the right-hand side ---

struct place {
  std::size_t i[3];  // x, y, z

  place moved(std::size_t d, std::ptrdiff_t by) const noexcept {
    place p = *this;
    p.i[d] += static_cast<std::size_t>(by);
    return p;
  }
};

// R at an inner point of n^3, from the states around it.
template <typename StateAt>
state right_hand_side(const place& p, std::size_t n, StateAt&& state_at) {
  const double cells = static_cast<double>(n - 1);
  const state own = state_at(p);
  state sum{};
  for (std::size_t d = 0; d < 3; ++d) {
    const state before = state_at(p.moved(d, -1)), after = state_at(p.moved(d, 1));
    const state f0 = flux(before, d), f1 = flux(after, d), v0 = diffusing(before, d), v = diffusing(own, d),
                v1 = diffusing(after, d);
    for (std::size_t c = 0; c < components; ++c)
      sum[c] += -0.5 * cells * (f1[c] - f0[c]) +
                cells * cells * ((v1[c] - 2 * v[c] + v0[c]) + diffusion * (after[c] - 2 * own[c] + before[c]));
    // The fourth difference, of inner points only.
    const auto dissipate = [&](double weight, const state& of) {
      for (std::size_t c = 0; c < components; ++c) sum[c] -= dissipation * weight * of[c];
    };
    const std::size_t i = p.i[d];
    dissipate(i == 1 || i == n - 2 ? 5 : 6, own);
    if (i >= 2) dissipate(-4, before);
    if (i + 2 < n) dissipate(-4, after);
    if (i >= 3) dissipate(1, state_at(p.moved(d, -2)));
    if (i + 3 < n) dissipate(1, state_at(p.moved(d, 2)));
  }
  return sum;
}

// --- the grid ---

template <typename Where>
struct grid {
  // Together.
  grid(const problem& p, std::size_t workers)
      : n(p.size),
        lines_together(p.lines_together),
        by(p.pipeline ? app::division::in_cubes(workers) : app::division::in_planes(workers)),
        flow({n, n, n}, by, workers),
        change({n, n, n}, by, workers),
        change_by_row(p.pipeline ? 1 : n, n * n, workers),
        uppers(p.pipeline ? workers : 1, n * n, workers) {}

  state& flow_at(const place& p) const noexcept { return flow.at(p.i[0], p.i[1], p.i[2]); }
  state& change_at(const place& p) const noexcept { return change.at(p.i[0], p.i[1], p.i[2]); }
  state& change_by_row_at(const place& p) const noexcept { return change_by_row.row(p.i[1])[p.i[2] * n + p.i[0]]; }

  std::size_t n, lines_together;
  const app::division by;
  app::cubes<state, Where> flow, change;
  app::bands<state, Where> change_by_row;  // by y, then z, then x
  app::bands<matrix, Where> uppers;        // by worker, then by its lines: what the next one's elimination begins with
};

// One worker's part.
template <typename Where>
class stepping {
 public:
  using worker = typename Where::worker;

  // `pipeline`: of all workers; null if there is none.
  stepping(const grid<Where>& g, std::uint64_t seed, worker& me, progress_of_all* pipeline = nullptr)
      : g_(g), pipeline_(pipeline), known_(seed), me_(me), line_(g.n) {
    for (std::size_t d = 0; d < 3; ++d) own_[d] = g.by.share_of(me.rank(), d, g.n);
    for_points(own_, [&](const place& p) { g.flow_at(p) = initial(p); });
    for (auto& [first, last] : own_) first = std::max<std::size_t>(first, 1), last = std::min(last, g.n - 1);
    for_own([&](const place& p) {
      state f = right_hand_side(p, g_.n, [&](const place& q) { return known(q); });
      for (auto& value : f) value = -value;
      forcing_.push_back(f);
    });
    me.barrier();
  }

  void step() {
    auto forcing = forcing_.begin();
    for_own([&](const place& p) {
      const state r = right_hand_side(p, g_.n, [&](const place& q) { return g_.flow_at(q); });
      for (std::size_t c = 0; c < components; ++c) g_.change_at(p)[c] = time_step * (r[c] + (*forcing)[c]);
      ++forcing;
    });
    if (pipeline_) {
      for (std::size_t d = 0; d < 3; ++d) {
        sweep_by_pipeline(d);
        me_.barrier();
      }
    } else {
      sweep_in_planes();
      me_.barrier();
      sweep_z_by_rows();
      me_.barrier();
    }
    for_own([&](const place& p) {
      for (std::size_t c = 0; c < components; ++c) g_.flow_at(p)[c] += (pipeline_ ? g_.change_at(p) : g_.change_by_row_at(p))[c];
    });
    me_.barrier();
  }

  // How far the flow is from the one it approaches, where it is farthest.
  double error() {
    double largest = 0;
    for_own([&](const place& p) {
      const state is = g_.flow_at(p), should_be = known(p);
      for (std::size_t c = 0; c < components; ++c) largest = std::max(largest, std::abs(is[c] - should_be[c]));
    });
    return me_.reduce(largest, [](double a, double b) { return std::max(a, b); });
  }

 private:
  using block = std::array<std::pair<std::size_t, std::size_t>, 3>;  // points of x, y, z

  template <typename Visit>
  static void for_points(const block& of, Visit&& visit) {
    for (std::size_t z = of[2].first; z < of[2].second; ++z)
      for (std::size_t y = of[1].first; y < of[1].second; ++y)
        for (std::size_t x = of[0].first; x < of[0].second; ++x) visit(place{{x, y, z}});
  }

  // The own inner points, in the order in which they lie.
  template <typename Visit>
  void for_own(Visit&& visit) const {
    for_points(own_, visit);
  }

  // The line in direction d that begins at a point of the border.
  template <typename From, typename To>
  void sweep(std::size_t d, const place& begin, From&& from, To&& to) {
    const auto point = [&](std::size_t i) { return begin.moved(d, static_cast<std::ptrdiff_t>(i)); };
    for (std::size_t i = 1; i + 1 < g_.n; ++i) line_.x[i] = from(point(i));
    line_.solve(d, [&](std::size_t i) { return g_.flow_at(point(i)); });
    for (std::size_t i = 1; i + 1 < g_.n; ++i) to(point(i)) = line_.x[i];
  }

  void sweep_in_planes() {
    const auto change_at = [&](const place& p) -> state& { return g_.change_at(p); };
    for (std::size_t z = own_[2].first; z < own_[2].second; ++z) {
      for (std::size_t y = 1; y + 1 < g_.n; ++y) sweep(0, {{0, y, z}}, change_at, change_at);
      for (std::size_t x = 1; x + 1 < g_.n; ++x) sweep(1, {{x, 0, z}}, change_at, change_at);
    }
  }

  void sweep_z_by_rows() {
    for (std::size_t y = own_[2].first; y < own_[2].second; ++y)
      for (std::size_t x = 1; x + 1 < g_.n; ++x)
        sweep(
            2, {{x, y, 0}}, [&](const place& p) -> state& { return g_.change_at(p); },
            [&](const place& p) -> state& { return g_.change_by_row_at(p); });
  }

  // Row by row: the own part of the elimination along d, and then of the solution. Who has no points has no part in it.
  void sweep_by_pipeline(std::size_t d) {
    const std::uint64_t before = rows_done_;
    if (d == 2) rows_done_ += g_.n;
    const std::size_t first = own_[d].first, last = own_[d].second;
    const std::size_t across = d == 2 ? 1 : 2, along = d == 0 ? 1 : 0;  // where rows differ; where lines of a row do
    const std::size_t first_row = own_[across].first, last_row = own_[across].second;
    const std::size_t first_line = own_[along].first, last_line = own_[along].second;
    if (first >= last || first_row >= last_row || first_line >= last_line) return;
    const bool at_begin = first == 1, at_end = last == g_.n - 1;
    const std::size_t previous = at_begin ? me_.rank() : neighbour(d, first - 1), next = at_end ? me_.rank() : neighbour(d, last);
    progress_of_worker& own = (*pipeline_)[me_.rank()];
    const auto number = [&](std::size_t row, std::size_t l) {
      return (row - first_row) * (last_line - first_line) + l - first_line;
    };
    const auto upper_at = [&](std::size_t row, std::size_t l, std::size_t i) -> matrix& {
      return uppers_[number(row, l) * (last - first) + i - first];
    };
    uppers_.resize(number(last_row, first_line) * (last - first));
    // A row's lines are announced in parts.
    const auto begins_part = [&](std::size_t l) { return (l - first_line) % g_.lines_together == 0; };
    const auto part_end = [&](std::size_t l) {
      return std::min(first_line + ((l - first_line) / g_.lines_together + 1) * g_.lines_together, last_line);
    };
    const auto reached = [&](std::size_t row, std::size_t l) { return (before + row) * (g_.n + 1) + l; };

    for (std::size_t row = first_row; row < last_row; ++row)
      for (std::size_t l = first_line; l < last_line; ++l) {
        if (!at_begin && begins_part(l)) (*pipeline_)[previous].eliminated[d].done.wait(reached(row, part_end(l)));
        const auto point = line_through(d, across, row, along, l);
        line_.x[first - 1] = at_begin ? state{} : g_.change_at(point(first - 1));
        line_.upper(first - 1) = at_begin ? matrix{} : g_.uppers.row(previous)[number(row, l)];
        for (std::size_t i = first; i < last; ++i) line_.x[i] = g_.change_at(point(i));
        line_.eliminate(d, first, last, [&](std::size_t i) { return g_.flow_at(point(i)); });
        for (std::size_t i = first; i < last; ++i) {
          g_.change_at(point(i)) = line_.x[i];
          upper_at(row, l, i) = line_.upper(i);
        }
        g_.uppers.row(me_.rank())[number(row, l)] = line_.upper(last - 1);
        if (l + 1 == part_end(l)) own.eliminated[d].done.set(reached(row, l + 1));
      }
    for (std::size_t row = first_row; row < last_row; ++row)
      for (std::size_t l = first_line; l < last_line; ++l) {
        if (!at_end && begins_part(l)) (*pipeline_)[next].solved[d].done.wait(reached(row, part_end(l)));
        const auto point = line_through(d, across, row, along, l);
        line_.x[last] = at_end ? state{} : g_.change_at(point(last));
        for (std::size_t i = first; i < last; ++i) {
          line_.x[i] = g_.change_at(point(i));
          line_.upper(i) = upper_at(row, l, i);
        }
        line_.substitute(first, last);
        for (std::size_t i = first; i < last; ++i) g_.change_at(point(i)) = line_.x[i];
        if (l + 1 == part_end(l)) own.solved[d].done.set(reached(row, l + 1));
      }
  }

  // The points in direction d of a line that is given by its places in the other two.
  auto line_through(std::size_t d, std::size_t across, std::size_t row, std::size_t along, std::size_t l) const {
    place p{};
    p.i[across] = row;
    p.i[along] = l;
    return [p, d](std::size_t i) { return p.moved(d, static_cast<std::ptrdiff_t>(i)); };
  }

  // Whose cube goes on where the own one ends in direction d.
  std::size_t neighbour(std::size_t d, std::size_t point) const noexcept {
    std::size_t part = 0;
    while (g_.n * (part + 1) / g_.by.parts(d) <= point) ++part;
    return g_.by.with_part(me_.rank(), d, part);
  }

  state known(const place& p) const noexcept {
    double x[3];
    for (std::size_t d = 0; d < 3; ++d) x[d] = static_cast<double>(p.i[d]) / static_cast<double>(g_.n - 1);
    return known_.at(x);
  }

  // The known flow on the border; inside the mean of straight lines from border to border in the three directions.
  state initial(const place& p) const noexcept {
    state mean{};
    for (std::size_t d = 0; d < 3; ++d) {
      if (p.i[d] == 0 || p.i[d] == g_.n - 1) return known(p);
      place begin = p, end = p;
      begin.i[d] = 0;
      end.i[d] = g_.n - 1;
      const double x = static_cast<double>(p.i[d]) / static_cast<double>(g_.n - 1);
      const state a = known(begin), b = known(end);
      for (std::size_t c = 0; c < components; ++c) mean[c] += ((1 - x) * a[c] + x * b[c]) / 3;
    }
    return mean;
  }

  const grid<Where>& g_;
  progress_of_all* const pipeline_;
  std::uint64_t rows_done_ = 0;  // in the pipeline, by all steps
  std::vector<matrix> uppers_;   // of the own points, in the sweep's order
  const known_flow known_;
  worker& me_;
  block own_;                   // inner points; in planes, those of z are rows in the sweep in z
  std::vector<state> forcing_;  // at the own inner points
  line line_;
};

// --- verification ---

// Whether a function's derivatives are those that its differences show.
template <typename Function, typename Derivatives>
bool derivatives_hold(const state& u, Function&& function, Derivatives&& derivatives) {
  constexpr double little = 1e-5, tolerance = 1e-6;
  bool hold = true;
  for (std::size_t d = 0; d < 3; ++d)
    for (std::size_t column = 0; column < components; ++column) {
      state before = u, after = u;
      before[column] -= little;
      after[column] += little;
      const state f0 = function(before, d), f1 = function(after, d);
      const matrix expected = derivatives(u, d);
      for (std::size_t row = 0; row < components; ++row)
        hold &= std::abs((f1[row] - f0[row]) / (2 * little) - expected[row][column]) < tolerance;
    }
  return hold;
}

// Exactly the sequential run's flow; with the right derivatives, and nearer to the known one than it was.
std::string difference_from_sequential(const problem& p, std::uint64_t seed, const grid<app::together>& is) {
  constexpr double middle[3] = {0.3, 0.5, 0.7};
  const state somewhere = known_flow(seed).at(middle);
  if (!derivatives_hold(somewhere, flux, flux_derivatives)) return "the flux has other derivatives";
  if (!derivatives_hold(somewhere, diffusing, diffusing_derivatives)) return "diffusion has other derivatives";
  problem by_rows = p;
  by_rows.pipeline = false;
  const grid<app::alone> expected(by_rows, 1);
  app::alone::worker me;
  stepping<app::alone> all(expected, seed, me);
  const double at_first = all.error();
  for (std::size_t step = 0; step < p.steps; ++step) all.step();
  if (const double error = all.error(); !(error < at_first && (p.steps < 100 || error < 0.01 * at_first)))
    return "the flow is " + std::to_string(error) + " away from the known one, after " + std::to_string(at_first);
  for (std::size_t z = 0; z < p.size; ++z)
    for (std::size_t y = 0; y < p.size; ++y)
      for (std::size_t x = 0; x < p.size; ++x)
        if (is.flow_at({{x, y, z}}) != expected.flow_at({{x, y, z}}))
          return "the flow at " + std::to_string(x) + ", " + std::to_string(y) + ", " + std::to_string(z) + " is another";
  return {};
}

// A worker's planes of a checksum of all.
std::uint64_t checksum_of(const grid<app::together>& g, std::size_t first, std::size_t last) {
  app::checksum sum;
  for (std::size_t z = first; z < last; ++z)
    for (std::size_t y = 0; y < g.n; ++y)
      for (std::size_t x = 0; x < g.n; ++x)
        for (std::size_t c = 0; c < components; ++c) sum.add(((z * g.n + y) * g.n + x) * components + c, g.flow_at({{x, y, z}})[c]);
  return sum.value();
}

app::outcome run(const problem& p, const app::options& o) {
  weft::team team(o.threads);
  const grid<app::together> all(p, team.workers());
  const app::shared_object<progress_of_all> pipeline(team.workers());
  app::outcome result;
  team.run([&](weft::worker& me) {
    o.place(me);
    stepping<app::together> mine(all, o.seed, me, p.pipeline ? &*pipeline : nullptr);
    const double seconds = app::seconds_of_steps(me, p.steps, [&] { mine.step(); });
    const auto [first, last] = me.share_of(p.size);
    const auto sum = me.sum(checksum_of(all, first, last));
    if (me.rank() != 0) return;
    result = {seconds, app::hexadecimal(sum), o.verify ? difference_from_sequential(p, o.seed, all) : ""};
  });
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  weft::job job(argc, argv);
  app::options o("The flow of a viscous gas: implicit steps with block tridiagonal systems in three directions");
  problem p;
  o.number("--size", p.size, "points in each of the three directions", {5, 1024});
  o.number("--steps", p.steps, "towards the known flow", {1, 1000000});
  o.flag("--pipeline", p.pipeline,
         "distribute cubes, and sweep through the workers row by row, instead of distributing planes and dividing the rows");
  o.number("--lines-together", p.lines_together, "of a row, that are handed on at once in the pipeline", {1, 1024});
  if (const auto status = o.parse(job, argc, argv)) return *status;
  const auto result = app::repeated(o, [&] { return run(p, o); });
  const auto size = std::to_string(p.size);
  return app::report(job, o, "appbt " + size + "x" + size + "x" + size + ", " + std::to_string(p.steps) + " steps", result);
}
