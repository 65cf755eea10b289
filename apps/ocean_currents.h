// The equations of ocean.cpp, for workers in shared memory and for workers with messages between them.
//
// Two layers of water on a rotating earth, by the quasi-geostrophic equations: each layer has a stream function psi and a potential
// vorticity q, which moves with the current, feels the earth's curvature, and is made and destroyed by wind, friction and viscosity:
//   dq/dt = -J(psi, q) - beta dpsi/dx + viscosity Laplacian(zeta) + wind (upper layer) or - drag zeta (lower layer),
//   zeta = Laplacian(psi).
// J is Arakawa's Jacobian, which conserves energy and enstrophy; steps are by the second-order method of Adams and Bashforth. The
// new stream functions follow from two elliptic equations, one for the mean of the layers and one for their difference, each
// solved by multigrid (ocean_solver.h) until the residual is small, which all workers find out together.
#pragma once

#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <vector>

#include "bands.h"
#include "ocean_solver.h"
#include "random.h"

namespace app::ocean {

// Metres and seconds.
inline constexpr double side = 2e6;
inline constexpr double depth[2] = {1000, 4000}, whole_depth = depth[0] + depth[1];
inline constexpr double rotation = 1e-4, beta = 2e-11;  // Coriolis parameter, and its change towards north
inline constexpr double reduced_gravity = 0.02;
inline constexpr double viscosity = 400, drag = 1e-7;
inline constexpr double wind = 0.1 / (1000 * depth[0]);  // stress over density and depth
inline constexpr double time_step = 3600;
inline constexpr double initial_vorticity = 1e-6;  // at most

struct problem {
  std::size_t size = 130, steps = 10, digits = 6;
  bool packed = false;                                     // rows lie one after another
  std::size_t cells() const noexcept { return size - 2; }  // without the border
  double width() const noexcept { return side / static_cast<double>(cells()); }
  double tolerance() const { return std::pow(10, -static_cast<double>(digits)); }
};

// The radius of deformation, beyond which the layers move against each other.
inline double deformation_radius() {
  return std::sqrt(reduced_gravity / (1 / depth[0] + 1 / depth[1])) / rotation;
}

// Rows of a field around a point. Columns are x, towards east; rows are y, towards north.
struct stencil {
  template <typename Where>
  stencil(const field<Where>& f, std::size_t i) : south(f.row(i - 1)), here(f.row(i)), north(f.row(i + 1)) {}

  double laplacian(std::size_t j, double width) const noexcept {
    return ((south[j] + north[j]) + (here[j - 1] + here[j + 1]) - 4 * here[j]) / (width * width);
  }
  double along_x(std::size_t j, double width) const noexcept { return (here[j + 1] - here[j - 1]) / (2 * width); }

  const double *south, *here, *north;
};

// Arakawa: Computational design for long-term numerical integration of the equations of fluid motion, 1966. The mean of three ways
// to write dp/dx dq/dy - dp/dy dq/dx.
inline double jacobian(const stencil& p, const stencil& q, std::size_t j, double width) {
  const std::size_t e = j + 1, w = j - 1;
  const double plain = (p.here[e] - p.here[w]) * (q.north[j] - q.south[j]) - (p.north[j] - p.south[j]) * (q.here[e] - q.here[w]);
  const double conserving_p = p.here[e] * (q.north[e] - q.south[e]) - p.here[w] * (q.north[w] - q.south[w]) -
                              p.north[j] * (q.north[e] - q.north[w]) + p.south[j] * (q.south[e] - q.south[w]);
  const double conserving_q = q.north[j] * (p.north[e] - p.north[w]) - q.south[j] * (p.south[e] - p.south[w]) -
                              q.here[e] * (p.north[e] - p.south[e]) + q.here[w] * (p.north[w] - p.south[w]);
  return (plain + conserving_p + conserving_q) / (12 * width * width);
}

// All that is shared.
template <typename Where>
struct basin {
  // Together.
  basin(const problem& p, std::size_t workers)
      : n(p.cells()),
        width(p.width()),
        tolerance(p.tolerance()),
        layers{layer(n, workers, p.packed), layer(n, workers, p.packed)},
        mean(n, width, std::numeric_limits<double>::infinity(), workers, p.packed),
        difference(n, width, deformation_radius(), workers, p.packed) {}

  struct layer {
    layer(std::size_t n_, std::size_t workers, bool packed)
        : psi(n_, workers, packed), q(n_, workers, packed), zeta(n_, workers, packed) {}
    field<Where> psi, q, zeta;
  };

  std::size_t n;
  double width, tolerance;
  layer layers[2];  // the upper one first
  elliptic_solver<Where> mean, difference;
};

// --- one worker's part ---

template <typename Where>
class currents {
 public:
  using worker = typename Where::worker;

  currents(const basin<Where>& b, std::uint64_t seed, worker& me)
      : b_(b), n_(b.n), me_(me), first_(inner_share_of(me, n_ + 2).first), last_(inner_share_of(me, n_ + 2).second) {
    for (std::size_t l = 0; l < 2; ++l) {
      now_[l].resize(own_rows() * n_);
      before_[l].resize(own_rows() * n_);
      for_points([&](std::size_t i, std::size_t j) {
        b_.layers[l].q.row(i)[j] = initial_vorticity * (2 * random_unit(seed, (l * n_ + i) * n_ + j) - 1);
      });
      close(b_.layers[l].q);
    }
    find_psi();
  }

  void step() {
    for (const auto& layer : b_.layers) {
      for_rows([&](std::size_t i) {
        const stencil psi(layer.psi, i);
        for (std::size_t j = 1; j <= n_; ++j) layer.zeta.row(i)[j] = psi.laplacian(j, b_.width);
      });
      close(layer.zeta);
    }
    show(me_, 1, b_.layers[0].zeta, b_.layers[1].zeta);
    find_tendencies();
    all_have_read(me_);  // q
    const bool first = steps_++ == 0;
    for (std::size_t l = 0; l < 2; ++l) {
      for_points([&](std::size_t i, std::size_t j) {
        const double now = now_[l][place(i, j)], before = first ? now : before_[l][place(i, j)];
        b_.layers[l].q.row(i)[j] += time_step * (1.5 * now - 0.5 * before);
      });
      close(b_.layers[l].q);
      now_[l].swap(before_[l]);
    }
    find_psi();
  }

  // Whether every equation was solved to the tolerance.
  bool solved() const noexcept { return solved_; }

 private:
  std::size_t own_rows() const noexcept { return first_ < last_ ? last_ - first_ : 0; }
  std::size_t place(std::size_t i, std::size_t j) const noexcept { return (i - first_) * n_ + j - 1; }

  template <typename Visit>
  void for_rows(Visit&& visit) const {
    for (std::size_t i = first_; i < last_; ++i) visit(i);
  }
  template <typename Visit>
  void for_points(Visit&& visit) const {
    for_rows([&](std::size_t i) {
      for (std::size_t j = 1; j <= n_; ++j) visit(i, j);
    });
  }

  // Beyond a wall is minus what is before it: nothing flows through walls, and they do not slow the current down.
  void close(const field<Where>& f) const {
    for_rows([&](std::size_t i) {
      f.row(i)[0] = -f.row(i)[1];
      f.row(i)[n_ + 1] = -f.row(i)[n_];
      if (i == 1) mirror(f.row(1), f.row(0));
      if (i == n_) mirror(f.row(n_), f.row(n_ + 1));
    });
  }
  void mirror(const double* from, double* to) const {
    for (std::size_t j = 0; j < n_ + 2; ++j) to[j] = -from[j];
  }

  void find_tendencies() {
    for (std::size_t l = 0; l < 2; ++l)
      for_rows([&](std::size_t i) {
        const auto& layer = b_.layers[l];
        const stencil psi(layer.psi, i), q(layer.q, i), zeta(layer.zeta, i);
        const double north = (static_cast<double>(i) - 0.5) / static_cast<double>(n_);
        const double curl = -2 * std::numbers::pi * wind / side * std::sin(2 * std::numbers::pi * north);
        for (std::size_t j = 1; j <= n_; ++j)
          now_[l][place(i, j)] = -jacobian(psi, q, j, b_.width) - beta * psi.along_x(j, b_.width) +
                                 viscosity * zeta.laplacian(j, b_.width) + (l == 0 ? curl : -drag * zeta.here[j]);
      });
  }

  // The layers' stream functions from their vorticities: H q = H1 q1 + H2 q2 is the Laplacian of the mean, and q1 - q2 that of the
  // difference, less the difference over the square of the radius of deformation.
  void find_psi() {
    const auto &upper = b_.layers[0], &lower = b_.layers[1];
    for_points([&](std::size_t i, std::size_t j) {
      const double q[2] = {upper.q.row(i)[j], lower.q.row(i)[j]};
      b_.mean.source().row(i)[j] = (depth[0] * q[0] + depth[1] * q[1]) / whole_depth;
      b_.difference.source().row(i)[j] = q[0] - q[1];
    });
    show(me_, 1, upper.q, lower.q);
    solved_ &= b_.mean.solve(b_.tolerance, me_) < b_.mean.most_cycles;
    solved_ &= b_.difference.solve(b_.tolerance, me_) < b_.difference.most_cycles;
    for_points([&](std::size_t i, std::size_t j) {
      const double mean = b_.mean.solution().row(i)[j], difference = b_.difference.solution().row(i)[j];
      upper.psi.row(i)[j] = mean + depth[1] / whole_depth * difference;
      lower.psi.row(i)[j] = mean - depth[0] / whole_depth * difference;
    });
    close(upper.psi);
    close(lower.psi);
    show(me_, 1, upper.psi, lower.psi);
  }

  const basin<Where>& b_;
  const std::size_t n_;
  worker& me_;
  std::size_t first_, last_, steps_ = 0;
  bool solved_ = true;
  std::vector<double> now_[2], before_[2];  // dq/dt at the own points
};

// --- verification ---

// What the current does to the sum of the squares of q, in parts of what it does to the squares: Arakawa's Jacobian leaves it alone.
inline double enstrophy_made(const basin<alone>& b) {
  double sum = 0, size = 0;
  for (const auto& layer : b.layers)
    for (std::size_t i = 1; i <= b.n; ++i)
      for (std::size_t j = 1; j <= b.n; ++j) {
        const double change = layer.q.row(i)[j] * jacobian(stencil(layer.psi, i), stencil(layer.q, i), j, b.width);
        sum += change;
        size += std::abs(change);
      }
  return std::abs(sum) / size;
}

// Exactly the sequential run's currents; and currents, as the equations were solved and enstrophy is conserved.
template <typename Where>
std::string difference_from_sequential(const problem& p, std::uint64_t seed, const basin<Where>& is, bool solved) {
  const basin<alone> expected(p, 1);
  alone::worker me;
  currents<alone> all(expected, seed, me);
  for (std::size_t step = 0; step < p.steps; ++step) all.step();
  if (!solved) return "an equation was not solved to the tolerance";
  if (const double made = enstrophy_made(expected); !(made < 1e-9)) return "the current makes enstrophy: " + std::to_string(made);
  for (std::size_t l = 0; l < 2; ++l) {
    const auto difference =
        difference_between(l == 0 ? "the upper layer at" : "the lower layer at", is.layers[l].psi, expected.layers[l].psi);
    if (!difference.empty()) return difference;
  }
  return {};
}

}  // namespace app::ocean
