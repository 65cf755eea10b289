// The physics of appbt: a compressible viscous gas, by the Navier-Stokes equations without the mixed derivatives, as in the BT kernel
// of the NAS Parallel Benchmarks. A state is density, three momenta and energy, by volume.
//
// In each direction d the gas has a convective flux F and diffuses by the second derivative of V, both functions of the state:
//   dU/dt = sum over d of: -dF/dx + d2V/dx2 + diffusion d2U/dx2 - dissipation (fourth difference of U).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "random.h"

namespace app::bt {

inline constexpr std::size_t components = 5;
using state = std::array<double, components>;
using matrix = std::array<std::array<double, components>, components>;  // derivatives of the row's by the column's

inline constexpr double gamma = 1.4, prandtl = 0.72, viscosity = 0.1;
inline constexpr double diffusion = 0.75, dissipation = 0.25;  // artificial

// What fluxes are made of.
struct gas {
  explicit gas(const state& u) noexcept : inverse(1 / u[0]), energy(u[4]) {
    for (std::size_t i = 0; i < 3; ++i) {
      velocity[i] = u[1 + i] * inverse;
      square += velocity[i] * velocity[i];
    }
    pressure = (gamma - 1) * (energy - 0.5 * u[0] * square);
  }
  double inverse, velocity[3], square = 0, energy, pressure;  // inverse: of the density; square: of the velocity
};

inline state flux(const state& u, std::size_t d) noexcept {
  const gas g(u);
  state f;
  for (std::size_t c = 0; c < components; ++c) f[c] = g.velocity[d] * u[c];
  f[1 + d] += g.pressure;
  f[4] += g.velocity[d] * g.pressure;
  return f;
}

inline matrix flux_derivatives(const state& u, std::size_t d) noexcept {
  const gas g(u);
  const double by_density = 0.5 * (gamma - 1) * g.square, enthalpy = (g.energy + g.pressure) * g.inverse;
  matrix a{};
  a[0][1 + d] = 1;
  for (std::size_t i = 0; i < 3; ++i) {
    a[1 + i][0] = -g.velocity[d] * g.velocity[i];
    a[1 + i][1 + d] += g.velocity[i];
    a[1 + i][1 + i] += g.velocity[d];
    // By way of the pressure.
    a[1 + d][1 + i] -= (gamma - 1) * g.velocity[i];
    a[4][1 + i] = -(gamma - 1) * g.velocity[i] * g.velocity[d];
  }
  a[1 + d][0] += by_density;
  a[1 + d][4] = gamma - 1;
  a[4][0] = g.velocity[d] * (by_density - enthalpy);
  a[4][1 + d] += enthalpy;
  a[4][4] = gamma * g.velocity[d];
  return a;
}

// Velocities, of which the one in the direction counts 4/3; and heat, with what friction does to the energy.
inline constexpr double conductivity = gamma / prandtl;

inline state diffusing(const state& u, std::size_t d) noexcept {
  const gas g(u);
  state v{};
  for (std::size_t i = 0; i < 3; ++i) v[1 + i] = viscosity * (i == d ? 4.0 / 3 : 1) * g.velocity[i];
  v[4] =
      viscosity * (0.5 * (1 - conductivity) * g.square + g.velocity[d] * g.velocity[d] / 6 + conductivity * g.energy * g.inverse);
  return v;
}

inline matrix diffusing_derivatives(const state& u, std::size_t d) noexcept {
  const gas g(u);
  matrix n{};
  for (std::size_t i = 0; i < 3; ++i) {
    const double weight = viscosity * (i == d ? 4.0 / 3 : 1) * g.inverse;
    n[1 + i][0] = -weight * g.velocity[i];
    n[1 + i][1 + i] = weight;
    n[4][1 + i] = viscosity * (1 - conductivity) * g.velocity[i] * g.inverse;
  }
  n[4][0] = -viscosity * g.inverse *
            ((1 - conductivity) * g.square + g.velocity[d] * g.velocity[d] / 3 + conductivity * g.energy * g.inverse);
  n[4][1 + d] += viscosity * g.velocity[d] * g.inverse / 3;
  n[4][4] = viscosity * conductivity * g.inverse;
  return n;
}

// The flow that the program is to find: polynomials of the place, whose coefficients are random but give a positive pressure.
class known_flow {
 public:
  explicit known_flow(std::uint64_t seed) {
    constexpr double at_origin[components] = {2, 1, 0.8, 0.6, 5};
    for (std::size_t c = 0; c < components; ++c) {
      constant_[c] = at_origin[c];
      for (std::size_t k = 0; k < terms; ++k) factors_[c][k] = 0.2 * random_unit(seed, c * terms + k);
    }
  }

  state at(const double* place) const noexcept {
    state u;
    for (std::size_t c = 0; c < components; ++c) {
      u[c] = constant_[c];
      for (std::size_t d = 0; d < 3; ++d) {
        const double x = place[d], *f = &factors_[c][3 * d];
        u[c] += x * (f[0] + x * (f[1] + x * f[2]));
      }
    }
    return u;
  }

 private:
  static constexpr std::size_t terms = 9;  // three powers in three directions
  double constant_[components], factors_[components][terms];
};

}  // namespace app::bt
