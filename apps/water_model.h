// The physics of water: molecules of one oxygen and two hydrogens that stretch and bend, attract and repel each other.
//
// The model is SPC/Fw (Wu, Tepper, Voth: Flexible simple point-charge water model, 2006): springs inside a molecule; between
// molecules charges on all sites and a Lennard-Jones potential between the oxygens. Nanometres, picoseconds, atomic mass units,
// kJ/mol.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "random.h"
#include "vector.h"

namespace app {

inline constexpr std::size_t water_sites = 3, water_coordinates = 3 * water_sites;  // oxygen, hydrogen, hydrogen; x, y, z of each

namespace water {

inline constexpr double mass[water_sites] = {15.9994, 1.00794, 1.00794};
inline constexpr double charge[water_sites] = {-0.82, 0.41, 0.41};
inline constexpr double coulomb = 138.935458;
inline constexpr double sigma = 0.3165492, epsilon = 0.650299;
inline constexpr double bond_length = 0.1012, bond_stiffness = 443153.4;
inline constexpr double bond_angle = 113.24 * 3.14159265358979323846 / 180, angle_stiffness = 317.5656;
inline constexpr double molecules_a_cubic_nanometre = 33.46;
inline constexpr double thermal = 2.494;  // kT at 300 K
inline constexpr double time_step = 0.0005;

// A cube that repeats itself in all directions. Molecules farther apart than half its side do not act upon each other; the
// interaction fades out before, so that the energy has no step.
struct box {
  explicit box(std::size_t molecules)
      : side(std::cbrt(static_cast<double>(molecules) / molecules_a_cubic_nanometre)),
        inverse(1 / side),
        cutoff(side / 2),
        fading(0.9 * cutoff) {}

  // What to add to a distance so that it becomes that of the nearest images. Adding and subtracting the large number rounds.
  double to_nearest(double distance) const noexcept {
    constexpr double rounder = 6755399441055744.0;
    return -side * ((distance * inverse + rounder) - rounder);
  }

  double side, inverse, cutoff, fading;
};

// The energy between two molecules whose nearest images are at a and b, or between several pairs of them; the forces upon them go
// to fa and fb.
template <typename Real>
inline Real between(const box& in, const Real* a, const Real* b, Real* fa, Real* fb) {
  Real energy{}, ga[water_coordinates] = {}, gb[water_coordinates] = {};
  for (std::size_t s = 0; s < water_sites; ++s)
    for (std::size_t t = 0; t < water_sites; ++t) {
      const Real x = a[3 * s] - b[3 * t], y = a[3 * s + 1] - b[3 * t + 1], z = a[3 * s + 2] - b[3 * t + 2];
      const Real inverse_square = 1 / (x * x + y * y + z * z);
      Real e = coulomb * charge[s] * charge[t] * root_of(inverse_square), f = e;
      if (s == 0 && t == 0) {
        const Real r2 = sigma * sigma * inverse_square, r6 = r2 * r2 * r2;
        e += 4 * epsilon * r6 * (r6 - 1);
        f += 24 * epsilon * r6 * (2 * r6 - 1);
      }
      energy += e;
      f *= inverse_square;
      ga[3 * s] += f * x, ga[3 * s + 1] += f * y, ga[3 * s + 2] += f * z;
      gb[3 * t] -= f * x, gb[3 * t + 1] -= f * y, gb[3 * t + 2] -= f * z;
    }
  // Fading: a factor that goes smoothly from 1 to 0, and the force upon the oxygens that comes of its slope.
  const Real x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2], r = root_of(x * x + y * y + z * z);
  const Real t = between_zero_and_one((r - in.fading) / (in.cutoff - in.fading));
  const Real factor = 1 - t * t * t * (10 - t * (15 - 6 * t));
  const Real pull = 30 * t * t * (1 - t) * (1 - t) / (in.cutoff - in.fading) * energy / r;
  for (std::size_t c = 0; c < water_coordinates; ++c) fa[c] = factor * ga[c], fb[c] = factor * gb[c];
  fa[0] += pull * x, fa[1] += pull * y, fa[2] += pull * z;
  fb[0] -= pull * x, fb[1] -= pull * y, fb[2] -= pull * z;
  return factor * energy;
}

// The energy of the springs inside a molecule; adds their forces to f.
inline double within(const double* a, double* f) {
  double arm[2][3], length[2], dot = 0, energy = 0;
  for (std::size_t h = 0; h < 2; ++h) {
    for (std::size_t d = 0; d < 3; ++d) arm[h][d] = a[3 * (h + 1) + d] - a[d];
    length[h] = std::sqrt(arm[h][0] * arm[h][0] + arm[h][1] * arm[h][1] + arm[h][2] * arm[h][2]);
  }
  for (std::size_t d = 0; d < 3; ++d) dot += arm[0][d] * arm[1][d];
  const double cosine = dot / (length[0] * length[1]), angle = std::acos(cosine);
  const double turn = angle_stiffness * (angle - bond_angle) / std::sqrt(1 - cosine * cosine);
  energy += 0.5 * angle_stiffness * (angle - bond_angle) * (angle - bond_angle);
  for (std::size_t h = 0; h < 2; ++h) {
    const double stretch = length[h] - bond_length;
    energy += 0.5 * bond_stiffness * stretch * stretch;
    for (std::size_t d = 0; d < 3; ++d) {
      const double along = arm[h][d] / length[h], other = arm[1 - h][d] / length[1 - h];
      const double force = -bond_stiffness * stretch * along + turn / length[h] * (other - cosine * along);
      f[3 * (h + 1) + d] += force;
      f[d] -= force;
    }
  }
  return energy;
}

inline double kinetic_energy(const double* v) {
  double energy = 0;
  for (std::size_t c = 0; c < water_coordinates; ++c) energy += 0.5 * mass[c / 3] * v[c] * v[c];
  return energy;
}

// The two parts of a step of velocity Verlet that concern one molecule.
inline void kick(double* v, const double* f) {
  for (std::size_t c = 0; c < water_coordinates; ++c) v[c] += 0.5 * time_step / mass[c / 3] * f[c];
}
inline void drift(double* x, const double* v) {
  for (std::size_t c = 0; c < water_coordinates; ++c) x[c] += time_step * v[c];
}

// Molecule i of n at the start: on a cubic lattice, in equilibrium within itself, turned and pushed at random.
inline void initialise(std::uint64_t seed, const box& in, std::size_t n, std::size_t i, double* x, double* v) {
  const auto random = [&](std::uint64_t k) { return random_unit(seed, 64 * i + k) - 0.5; };
  std::size_t side = 1;
  while (side * side * side < n) ++side;
  const std::size_t place = i * side * side * side / n, along[3] = {place / side / side, place / side % side, place % side};
  // Two random directions, the second one at right angles to the first.
  double p[3], q[3], pp = 0, pq = 0, qq = 0;
  for (std::size_t d = 0; d < 3; ++d) p[d] = random(d) + (d == 0 ? 0.6 : 0), q[d] = random(3 + d) + (d == 1 ? 0.6 : 0);
  for (std::size_t d = 0; d < 3; ++d) pp += p[d] * p[d], pq += p[d] * q[d];
  for (std::size_t d = 0; d < 3; ++d) q[d] -= pq / pp * p[d], qq += q[d] * q[d];
  for (std::size_t d = 0; d < 3; ++d) {
    const double oxygen = (static_cast<double>(along[d]) + 0.5) * in.side / static_cast<double>(side);
    const double forth = bond_length * std::cos(bond_angle / 2) * p[d] / std::sqrt(pp);
    const double aside = bond_length * std::sin(bond_angle / 2) * q[d] / std::sqrt(qq);
    x[d] = oxygen, x[3 + d] = oxygen + forth + aside, x[6 + d] = oxygen + forth - aside;
  }
  // The sum of twelve uniform numbers is nearly normal.
  for (std::size_t c = 0; c < water_coordinates; ++c) {
    double normal = 0;
    for (std::uint64_t k = 0; k < 12; ++k) normal += random_unit(seed + 1, (i * water_coordinates + c) * 12 + k) - 0.5;
    v[c] = normal * std::sqrt(thermal / mass[c / 3]);
  }
}

}  // namespace water
}  // namespace app
