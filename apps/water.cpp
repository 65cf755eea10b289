// water: molecular dynamics of water, every molecule with every other one: 256 molecules and 3 steps in Cashmere 3.1. The structure
// is that of the SPLASH program; the physics is in water_model.h.
//
// Molecule i computes what it and the n/2 molecules after it do to each other (round the end; a half shell), which is every pair
// once and the same work for everybody. A worker adds up forces in private memory and then adds them to the shared ones under
// locks. SPLASH has a lock for every molecule (--molecules-per-lock 1) and a record with all of it (--record 672); usual here is one
// lock for those whose forces lie on one page, as two nodes cannot write to one page at once without cost anyway. `--lock-pairs` reads
// positions where they are, for every pair, and adds what each pair does to the shared forces at once.
//
//   weft run -n 4 build/bin/water --molecules 512 --verify
#include <weft/weft.h>

#include <mutex>
#include <vector>

#include "options.h"
#include "report.h"
#include "shared.h"
#include "steps.h"
#include "water_model.h"

namespace {

using namespace app::water;
constexpr std::size_t coordinates = app::water_coordinates;

struct problem {
  std::size_t molecules = 256, steps = 3, molecules_per_lock = 32;
  std::size_t record = 0;  // bytes; 0: positions and forces lie in arrays of their own
  bool lock_pairs = false;
};

// Coordinates, velocities or forces of a molecule; 32 to a page.
struct molecule {
  double c[coordinates];
  double unused[16 - coordinates];
};

struct alignas(64) padded_lock {
  weft::mutex lock;
};
using locks = std::vector<padded_lock, weft::allocator<padded_lock>>;

class shared {
 public:
  // Together.
  explicit shared(const problem& p)
      : n(p.molecules),
        per_lock(p.molecules_per_lock),
        stride_(p.record != 0 ? p.record : sizeof(molecule)),
        positions_(n * stride_, weft::placement::block()),
        forces_(p.record != 0 ? weft::page_size : n * stride_, weft::placement::block()),
        first_force_(p.record != 0 ? positions_.data() + sizeof(molecule) : forces_.data()),
        locks_((n + per_lock - 1) / per_lock) {}

  const std::size_t n, per_lock;

  // Each position is its worker's to write; forces are guarded by locks while all add to them.
  molecule& position(std::size_t i) const noexcept { return *reinterpret_cast<molecule*>(positions_.data() + i * stride_); }
  molecule& force(std::size_t i) const noexcept { return *reinterpret_cast<molecule*>(first_force_ + i * stride_); }
  std::size_t groups() const noexcept { return (*locks_).size(); }
  weft::mutex& lock_of(std::size_t group) const noexcept { return (*locks_)[group].lock; }

 private:
  const std::size_t stride_;
  app::shared_array<std::byte> positions_, forces_;  // with records, the first holds both
  std::byte* const first_force_;
  app::shared_object<locks> locks_;
};

// What molecule i does to those after it. They are collected first, coordinate by coordinate, so that the long computation goes
// through contiguous memory without branches, several neighbours at a time.
class half_shell {
 public:
  explicit half_shell(std::size_t n)
      : n_(n), stride_((n + app::lanes - 1) / app::lanes), index_(n), near_(coordinates * stride_), energy_(stride_) {}

  // Adds to the forces, of which there are n; returns the energy.
  double act(const box& in, const molecule* positions, molecule* forces, std::size_t i) {
    collect(
        in, [&](std::size_t j) -> const molecule& { return positions[j]; }, i);
    const auto upon_me = compute(in, positions[i].c);
    for (std::size_t c = 0; c < coordinates; ++c) forces[i].c[c] += upon_me.c[c];
    for (std::size_t k = 0; k < count_; ++k)
      for (std::size_t c = 0; c < coordinates; ++c) forces[index_[k]].c[c] += near(c, k);
    return energy();
  }

  // With position(j) of molecule j: calls add(upon i, j, upon j) for each pair; returns the energy.
  template <typename Position, typename Add>
  double act_pair_by_pair(const box& in, Position&& position, std::size_t i, Add&& add) {
    collect(in, position, i);
    app::vector me[coordinates], part[coordinates];
    for (std::size_t c = 0; c < coordinates; ++c) me[c] = app::vector{} + position(i).c[c];
    fill_up();
    for (std::size_t k = 0; k < count_; k += app::lanes) {
      act_upon(in, me, k / app::lanes, part);
      for (std::size_t l = 0; l < app::lanes && k + l < count_; ++l) {
        molecule upon_i, upon_j;
        for (std::size_t c = 0; c < coordinates; ++c) upon_i.c[c] = part[c][l], upon_j.c[c] = near(c, k + l);
        add(upon_i, index_[k + l], upon_j);
      }
    }
    return energy();
  }

 private:
  // For even n, the molecule opposite belongs to the first half's.
  std::size_t partners_of(std::size_t i) const noexcept { return n_ % 2 == 0 && i >= n_ / 2 ? n_ / 2 - 1 : n_ / 2; }

  template <typename Position>
  void collect(const box& in, Position&& position, std::size_t i) {
    const double* mine = position(i).c;
    count_ = 0;
    for (std::size_t k = 1; k <= partners_of(i); ++k) {
      const std::size_t j = i + k < n_ ? i + k : i + k - n_;
      const double* other = position(j).c;
      double shift[3], square = 0;
      for (std::size_t d = 0; d < 3; ++d) {
        const double distance = mine[d] - other[d];
        shift[d] = in.to_nearest(distance);
        square += (distance + shift[d]) * (distance + shift[d]);
      }
      if (square >= in.cutoff * in.cutoff) continue;
      index_[count_] = j;
      for (std::size_t c = 0; c < coordinates; ++c) near(c, count_) = other[c] - shift[c % 3];
      ++count_;
    }
  }

  // The neighbours' coordinates give way to the forces upon them; returns the force upon this one.
  molecule compute(const box& in, const double* mine) {
    app::vector me[coordinates], part[coordinates], upon_me[coordinates] = {};
    for (std::size_t c = 0; c < coordinates; ++c) me[c] = app::vector{} + mine[c];
    const std::size_t whole = count_ / app::lanes;
    for (std::size_t k = 0; k < whole; ++k) {
      act_upon(in, me, k, part);
      for (std::size_t c = 0; c < coordinates; ++c) upon_me[c] += part[c];
    }
    molecule sum{};
    for (std::size_t c = 0; c < coordinates; ++c)
      for (std::size_t l = 0; l < app::lanes; ++l) sum.c[c] += upon_me[c][l];
    if (whole * app::lanes == count_) return sum;
    fill_up();
    act_upon(in, me, whole, part);
    for (std::size_t c = 0; c < coordinates; ++c)
      for (std::size_t l = 0; l < count_ % app::lanes; ++l) sum.c[c] += part[c][l];
    return sum;
  }

  // The last vector may not be full: what follows the neighbours becomes copies of the last one, which nobody adds up.
  void fill_up() {
    for (std::size_t k = count_; k % app::lanes != 0; ++k)
      for (std::size_t c = 0; c < coordinates; ++c) near(c, k) = near(c, count_ - 1);
  }

  double energy() const {
    double sum = 0;
    for (std::size_t k = 0; k < count_; ++k) sum += energy_[k / app::lanes][k % app::lanes];
    return sum;
  }

  void act_upon(const box& in, const app::vector* me, std::size_t k, app::vector* upon_me) {
    app::vector them[coordinates], upon_them[coordinates];
    for (std::size_t c = 0; c < coordinates; ++c) them[c] = near_[c * stride_ + k];
    energy_[k] = between(in, me, them, upon_me, upon_them);
    for (std::size_t c = 0; c < coordinates; ++c) near_[c * stride_ + k] = upon_them[c];
  }

  double& near(std::size_t c, std::size_t k) noexcept { return reinterpret_cast<double*>(near_.data() + c * stride_)[k]; }

  std::size_t n_, stride_, count_ = 0;
  std::vector<std::size_t> index_;
  std::vector<app::vector> near_;  // by coordinate, then by neighbour
  std::vector<app::vector> energy_;
};

// --- one worker's part ---

class dynamics {
 public:
  dynamics(const shared& all, const box& in, std::uint64_t seed, bool lock_pairs, weft::worker& me)
      : all_(all),
        in_(in),
        lock_pairs_(lock_pairs),
        me_(me),
        first_(me.share_of(all.n).first),
        last_(me.share_of(all.n).second),
        velocities_(last_ - first_),
        positions_(all.n),
        forces_(all.n),
        shell_(all.n) {
    for (std::size_t i = first_; i < last_; ++i) initialise(seed, in, all.n, i, all.position(i).c, velocities_[i - first_].c);
    me.barrier();
    add_forces();
    me.barrier();
  }

  void step() {
    for (std::size_t i = first_; i < last_; ++i) {
      kick(velocities_[i - first_].c, all_.force(i).c);
      drift(all_.position(i).c, velocities_[i - first_].c);
      all_.force(i) = {};
    }
    me_.barrier();
    add_forces();
    me_.barrier();
    for (std::size_t i = first_; i < last_; ++i) kick(velocities_[i - first_].c, all_.force(i).c);
  }

  // The worker's part of it.
  double energy() const {
    double sum = potential_;
    for (const auto& v : velocities_) sum += kinetic_energy(v.c);
    return sum;
  }

 private:
  void add_forces() {
    potential_ = 0;
    lock_pairs_ ? add_pairs() : add_sums();
  }

  void add_pairs() {
    const auto position = [&](std::size_t i) -> const molecule& { return all_.position(i); };
    for (std::size_t i = first_; i < last_; ++i) {
      molecule upon_me{};
      potential_ += within(position(i).c, upon_me.c);
      add_to(i, upon_me);
      potential_ += shell_.act_pair_by_pair(in_, position, i, [&](const molecule& upon_i, std::size_t j, const molecule& upon_j) {
        add_to(i, upon_i);
        add_to(j, upon_j);
      });
    }
  }
  void add_to(std::size_t i, const molecule& force) {
    std::scoped_lock lock(all_.lock_of(i / all_.per_lock));
    for (std::size_t c = 0; c < coordinates; ++c) all_.force(i).c[c] += force.c[c];
  }

  void add_sums() {
    for (std::size_t i = 0; i < all_.n; ++i) positions_[i] = all_.position(i);
    std::fill(forces_.begin(), forces_.end(), molecule{});
    for (std::size_t i = first_; i < last_; ++i) {
      potential_ += within(positions_[i].c, forces_[i].c);
      potential_ += shell_.act(in_, positions_.data(), forces_.data(), i);
    }
    // Everybody begins with the own molecules, so that not all want the same lock.
    const std::size_t groups = all_.groups(), own = first_ / all_.per_lock;
    for (std::size_t g = 0; g < groups; ++g) add_to_group((own + g) % groups);
  }

  void add_to_group(std::size_t group) {
    const std::size_t first = group * all_.per_lock, last = std::min(first + all_.per_lock, all_.n);
    bool touched = false;
    for (std::size_t i = first; i < last; ++i) touched |= in_reach(i);
    if (!touched) return;
    std::scoped_lock lock(all_.lock_of(group));
    for (std::size_t i = first; i < last; ++i)
      for (std::size_t c = 0; c < coordinates; ++c) all_.force(i).c[c] += forces_[i].c[c];
  }
  // One of the worker's molecules, or in the half shell of one.
  bool in_reach(std::size_t i) const noexcept {
    return first_ < last_ && (i + all_.n - first_) % all_.n < last_ - first_ + all_.n / 2;
  }

  const shared& all_;
  const box& in_;
  const bool lock_pairs_;
  weft::worker& me_;
  std::size_t first_, last_;
  std::vector<molecule> velocities_;          // of the worker's own
  std::vector<molecule> positions_, forces_;  // of all: copies, and what this worker adds
  half_shell shell_;
  double potential_ = 0;
};

// --- verification ---

// All pairs, one after the other.
double all_forces(const box& in, const std::vector<molecule>& x, std::vector<molecule>& f) {
  double energy = 0;
  std::fill(f.begin(), f.end(), molecule{});
  for (std::size_t i = 0; i < x.size(); ++i) {
    energy += within(x[i].c, f[i].c);
    for (std::size_t j = i + 1; j < x.size(); ++j) {
      molecule image = x[j];
      double square = 0;
      for (std::size_t d = 0; d < 3; ++d) {
        const double shift = in.to_nearest(x[i].c[d] - x[j].c[d]), distance = x[i].c[d] - x[j].c[d] + shift;
        for (std::size_t s = 0; s < app::water_sites; ++s) image.c[3 * s + d] -= shift;
        square += distance * distance;
      }
      if (square < in.cutoff * in.cutoff) {
        molecule upon_i, upon_j;
        energy += between(in, x[i].c, image.c, upon_i.c, upon_j.c);
        for (std::size_t c = 0; c < coordinates; ++c) f[i].c[c] += upon_i.c[c], f[j].c[c] += upon_j.c[c];
      }
    }
  }
  return energy;
}

// The order of additions differs, so the positions agree to 10^-9 nm and the energies to a part in 10^9.
std::string difference_from_sequential(const problem& p, std::uint64_t seed, const shared& all, double energy) {
  constexpr double tolerance = 1e-9;
  const box in(p.molecules);
  std::vector<molecule> x(p.molecules), v(p.molecules), f(p.molecules);
  for (std::size_t i = 0; i < p.molecules; ++i) initialise(seed, in, p.molecules, i, x[i].c, v[i].c);
  double expected = all_forces(in, x, f);
  for (std::size_t step = 0; step < p.steps; ++step) {
    for (std::size_t i = 0; i < p.molecules; ++i) kick(v[i].c, f[i].c), drift(x[i].c, v[i].c);
    expected = all_forces(in, x, f);
    for (std::size_t i = 0; i < p.molecules; ++i) kick(v[i].c, f[i].c);
  }
  for (const auto& one : v) expected += kinetic_energy(one.c);
  if (!(std::abs(energy - expected) <= tolerance * std::abs(expected)))
    return "the energy is " + std::to_string(energy) + ", not " + std::to_string(expected);
  for (std::size_t i = 0; i < p.molecules; ++i)
    for (std::size_t c = 0; c < coordinates; ++c)
      if (!(std::abs(all.position(i).c[c] - x[i].c[c]) <= tolerance))
        return "molecule " + std::to_string(i) + " is elsewhere by " + std::to_string(std::abs(all.position(i).c[c] - x[i].c[c])) +
               " nm";
  return {};
}

app::outcome run(const problem& p, const app::options& o) {
  const shared all(p);
  const box in(p.molecules);
  app::outcome result;
  weft::team(o.threads).run([&](weft::worker& me) {
    o.place(me);
    dynamics mine(all, in, o.seed, p.lock_pairs, me);
    const double seconds = app::seconds_of_steps(me, p.steps, [&] { mine.step(); });
    const double energy = me.sum(mine.energy());
    if (me.rank() != 0) return;
    char text[32];
    std::snprintf(text, sizeof text, "%.4f", energy);
    result = {seconds, text, o.verify ? difference_from_sequential(p, o.seed, all, energy) : ""};
  });
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  weft::job job(argc, argv);
  app::options o("Molecular dynamics of water, every molecule with every other one; the checksum is the energy in kJ/mol");
  problem p;
  o.number("--molecules", p.molecules, "how many", {2, 1 << 20});
  o.number("--steps", p.steps, "steps of half a femtosecond", {1, 1000000});
  o.number("--molecules-per-lock", p.molecules_per_lock, "whose forces one lock guards; 32 lie on a page", {1, 1 << 20});
  o.number("--record", p.record, "bytes of a record with all of a molecule, 672 in SPLASH; 0: arrays of positions and of forces",
           {0, 1 << 16});
  o.flag("--lock-pairs", p.lock_pairs,
         "add each pair's forces to the shared ones at once; positions are not copied, and forces not added up first");
  const auto objection = [&]() -> std::string {
    const bool fine = p.record == 0 || (p.record % sizeof(double) == 0 && p.record >= 2 * sizeof(molecule));
    return fine ? "" : "a record has 256 bytes at least, and a whole number of doubles";
  };
  if (const auto status = o.parse(job, argc, argv, objection)) return *status;
  const auto result = app::repeated(o, [&] { return run(p, o); });
  return app::report(job, o, "water " + std::to_string(p.molecules) + " molecules, " + std::to_string(p.steps) + " steps", result);
}
