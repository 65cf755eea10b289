// mp3d: rarefied air at hypersonic speed round a body in a wind tunnel (after the SPLASH program: 60000 particles and 10 steps in
// Cashmere 3.1).
//
// Particles fly through a tunnel that is divided into cells about a mean free path wide. In each step all fly on, bounce off the
// walls and the body, and enter anew if they left; then particles that are in the same cell collide at random. Air is diatomic: a
// particle has three components of velocity and two of rotation, and a collision shuffles the differences of the two particles'
// components and their signs, which conserves momentum and energy (McDonald, Baganoff: Vectorization of a particle simulation
// method for hypersonic rarefied flow, 1988).
//
// As in SPLASH, particles are dealt to the workers once and for all, and cells are anybody's who has a particle there: this is the
// program that shares most. But nobody locks a cell. A worker moves its particles and lists them by cell; cells are dealt to the
// workers too, and a cell's worker goes through the lists of all workers for it, lets the particles collide, and adds up what is in
// the cell. So a cell's particles are met in the order of their numbers, random numbers go by particle, cell and step, and the result
// does not depend on the workers.
//
// `--lock-cells` is nearer to SPLASH's way: cells have locks, and whoever moves a particle into a cell takes its lock, adds the particle to what
// is in the cell, and lets it collide with the one that waits there, if there is one; else it waits for the next. Then the order in which
// particles come counts, and the result is another each time; no particle and no energy may be lost in any.
//
//   weft run -n 4 build/bin/mp3d --particles 60000 --steps 10 --verify
#include <weft/weft.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <mutex>
#include <numbers>
#include <vector>

#include "bands.h"
#include "checksum.h"
#include "options.h"
#include "random.h"
#include "report.h"
#include "steps.h"

namespace {

// Cells are 1 wide, steps take the time 1.
constexpr double sound = 0.1, stream = 0.6;      // most probable speed of heat, speed of the air: a bit more than Mach 7
constexpr double collision_rate = 2;             // times relative speed: how probable it is that a pair collides
constexpr std::size_t components = 5, axes = 3;  // x (along the stream), y, z, and two of rotation

struct problem {
  std::size_t particles = 60000, steps = 10, length = 24, height = 14, breadth = 7;
  bool lock_cells = false;
  std::size_t cells() const noexcept { return length * height * breadth; }
};

struct alignas(64) particle {
  double position[axes], velocity[components];
};

// What has been in a cell, summed over the steps.
struct content {
  std::uint64_t particles, collisions;
  double momentum[axes], energy;
};

// With locks on cells, each guarded by its own: what has been in it, and who waits there for somebody to collide with.
struct open_cell {
  content sum;
  std::uint64_t step;  // in which it waits: nobody does if it is an earlier one
  particle* waiting;
};

// Random numbers by what they are for, so that they do not depend on who asks.
class dice {
 public:
  dice(std::uint64_t seed, std::size_t step, std::size_t number) : seed_(app::random_bits(app::random_bits(seed, step), number)) {}

  std::uint64_t bits() noexcept { return app::random_bits(seed_, used_++); }
  double unit() noexcept { return static_cast<double>(bits() >> 11) * 0x1p-53; }
  // A component of the velocity of heat.
  double heat() noexcept { return sound * std::sqrt(-std::log(1 - unit())) * std::cos(2 * std::numbers::pi * unit()); }

 private:
  std::uint64_t seed_, used_ = 0;
};

// --- flying ---

// The tunnel: open at both ends, walls at the sides. The body is a block on its floor, as broad as the tunnel.
class tunnel {
 public:
  explicit tunnel(const problem& p)
      : size_{static_cast<double>(p.length), static_cast<double>(p.height), static_cast<double>(p.breadth)}, p_(p) {}

  void enter(particle& x, dice& random, double farthest) const noexcept {
    do {
      x.position[0] = farthest * random.unit();
      for (std::size_t d = 1; d < axes; ++d) x.position[d] = size_[d] * random.unit();
    } while (in_body(x));
    for (auto& v : x.velocity) v = random.heat();
    x.velocity[0] += stream;
  }
  void enter_anywhere(particle& x, dice&& random) const noexcept { enter(x, random, size_[0]); }

  void fly(particle& x, dice&& random) const noexcept {
    const bool was_before = x.position[0] < front(), was_behind = x.position[0] >= back();
    for (std::size_t d = 0; d < axes; ++d) x.position[d] += x.velocity[d];
    for (std::size_t d = 1; d < axes; ++d) bounce(x, d, 0, size_[d]);
    if (in_body(x)) {
      if (was_before)
        reflect(x, 0, front());
      else if (was_behind)
        reflect(x, 0, back());
      else
        reflect(x, 1, top());
    }
    // Who left, or ended in the body in spite of all, makes room for somebody new: in the first cells, with the stream.
    if (!inside(x)) enter(x, random, 1);
  }

  std::size_t cell_of(const particle& x) const noexcept {
    const auto at = [&](std::size_t d) { return static_cast<std::size_t>(x.position[d]); };
    return (at(0) * p_.height + at(1)) * p_.breadth + at(2);
  }

  bool inside(const particle& x) const noexcept {
    for (std::size_t d = 0; d < axes; ++d)
      if (!(x.position[d] >= 0 && x.position[d] < size_[d])) return false;
    return !in_body(x);
  }

 private:
  double front() const noexcept { return 0.4 * size_[0]; }
  double back() const noexcept { return 0.5 * size_[0]; }
  double top() const noexcept { return 0.3 * size_[1]; }
  bool in_body(const particle& x) const noexcept {
    return x.position[0] >= front() && x.position[0] < back() && x.position[1] < top();
  }

  static void reflect(particle& x, std::size_t d, double wall) noexcept {
    x.position[d] = 2 * wall - x.position[d];
    x.velocity[d] = -x.velocity[d];
  }
  static void bounce(particle& x, std::size_t d, double low, double high) noexcept {
    if (x.position[d] < low) reflect(x, d, low);
    if (x.position[d] >= high) reflect(x, d, high);
  }

  double size_[axes];
  problem p_;
};

// --- colliding ---

// Halves of the differences change places and signs; the means stay.
void collide(particle& a, particle& b, dice& random) {
  double half[components];
  for (std::size_t c = 0; c < components; ++c) half[c] = (a.velocity[c] - b.velocity[c]) / 2;
  for (std::size_t c = components; c > 1; --c) std::swap(half[c - 1], half[random.bits() % c]);
  const auto signs = random.bits();
  for (std::size_t c = 0; c < components; ++c) {
    const double mean = (a.velocity[c] + b.velocity[c]) / 2, change = signs >> c & 1 ? half[c] : -half[c];
    a.velocity[c] = mean + change;
    b.velocity[c] = mean - change;
  }
}

double energy_of(const particle& x) {
  double sum = 0;
  for (const double v : x.velocity) sum += v * v / 2;
  return sum;
}

void add(content& sum, const particle& x) {
  ++sum.particles;
  for (std::size_t d = 0; d < axes; ++d) sum.momentum[d] += x.velocity[d];
  sum.energy += energy_of(x);
}

double relative_speed(const particle& a, const particle& b) {
  double square = 0;
  for (std::size_t d = 0; d < axes; ++d) square += (a.velocity[d] - b.velocity[d]) * (a.velocity[d] - b.velocity[d]);
  return std::sqrt(square);
}

// The faster they fly past each other, the more probably they meet.
void may_collide(particle& a, particle& b, content& sum, dice& random) {
  const double probability = collision_rate * relative_speed(a, b);
  if (random.unit() >= probability) return;
  collide(a, b, random);
  ++sum.collisions;
}

// Everybody has one partner at random.
void collide_in_cell(std::vector<particle*>& here, content& sum, dice&& random) {
  for (std::size_t k = here.size(); k > 1; --k) std::swap(here[k - 1], here[random.bits() % k]);
  for (std::size_t k = 0; k + 1 < here.size(); k += 2) may_collide(*here[k], *here[k + 1], sum, random);
}

// --- who does what ---

template <typename Where>
struct wind {
  // Together.
  wind(const problem& p, std::size_t workers)
      : space(p),
        particles(workers, (p.particles + workers - 1) / workers, workers),
        in_cell(workers, p.cells() + 1, workers),
        listed(workers, (p.particles + workers - 1) / workers, workers),
        contents(p.cells(), 1, workers) {}

  tunnel space;
  // By worker.
  app::bands<particle, Where> particles;     // written by their worker and, when all have flown, by their cell's
  app::bands<std::uint32_t, Where> in_cell;  // where in `listed` a cell's particles begin
  app::bands<std::uint32_t, Where> listed;   // particles of the worker, by cell and then by number
  app::bands<content, Where> contents;       // by cell
};

template <typename Where>
class share {
 public:
  using worker = typename Where::worker;

  share(const problem& p, std::uint64_t seed, const wind<Where>& all, worker& me)
      : all_(all),
        me_(me),
        seed_(seed),
        cells_(p.cells()),
        first_(me.share_of(p.particles).first),
        count_(me.share_of(p.particles).second - first_) {
    for (std::size_t k = 0; k < count_; ++k) all.space.enter_anywhere(own()[k], dice(seed, 0, first_ + k));
    const auto [first, last] = me.share_of(cells_);
    for (std::size_t c = first; c < last; ++c) *all.contents.row(c) = {};
    me.barrier();
  }

  void step() {
    ++step_;
    for (std::size_t k = 0; k < count_; ++k) all_.space.fly(own()[k], dice(seed_, 2 * step_, first_ + k));
    list_by_cell();
    me_.barrier();
    const auto [first, last] = me_.share_of(cells_);
    for (std::size_t c = first; c < last; ++c) work_on(c);
    me_.barrier();
  }

  const particle* particles() const noexcept { return own(); }
  std::size_t first() const noexcept { return first_; }
  std::size_t count() const noexcept { return count_; }

 private:
  particle* own() const noexcept { return all_.particles.row(me_.rank()); }

  // Counts, and puts each particle where those of the cells before it end.
  void list_by_cell() {
    next_.assign(cells_ + 1, 0);
    cell_.resize(count_);
    for (std::size_t k = 0; k < count_; ++k) ++next_[1 + (cell_[k] = all_.space.cell_of(own()[k]))];
    for (std::size_t c = 0; c < cells_; ++c) next_[c + 1] += next_[c];
    std::copy(next_.begin(), next_.end(), all_.in_cell.row(me_.rank()));
    for (std::size_t k = 0; k < count_; ++k) all_.listed.row(me_.rank())[next_[cell_[k]]++] = static_cast<std::uint32_t>(k);
  }

  void work_on(std::size_t cell) {
    here_.clear();
    for (std::uint32_t w = 0; w < me_.size(); ++w) {
      const std::uint32_t *begin = all_.in_cell.row(w) + cell, *list = all_.listed.row(w);
      for (std::uint32_t k = begin[0]; k < begin[1]; ++k) here_.push_back(all_.particles.row(w) + list[k]);
    }
    content& sum = *all_.contents.row(cell);
    for (const particle* x : here_) add(sum, *x);
    collide_in_cell(here_, sum, dice(seed_, 2 * step_ + 1, cell));
  }

  const wind<Where>& all_;
  worker& me_;
  std::uint64_t seed_;
  std::size_t cells_, first_, count_, step_ = 0;
  std::vector<std::uint32_t> next_;  // by cell
  std::vector<std::size_t> cell_;    // by particle
  std::vector<particle*> here_;      // in one cell, in the order of their numbers
};

// --- with locks on cells ---

struct alignas(64) padded_lock {
  weft::mutex lock;
};
using locks = std::vector<padded_lock, weft::allocator<padded_lock>>;

struct locked_wind {
  // Together.
  locked_wind(const problem& p, std::size_t workers)
      : space(p),
        particles(workers, (p.particles + workers - 1) / workers, workers),
        cells(p.cells(), weft::placement::block()),
        locks_of_cells(p.cells()) {}

  tunnel space;
  app::bands<particle, app::together> particles;  // by worker: written by it and, when it has moved them, under their cells' locks
  app::shared_array<open_cell> cells;
  app::shared_object<locks> locks_of_cells;
};

// One worker's particles.
class locked_share {
 public:
  locked_share(const problem& p, std::uint64_t seed, const locked_wind& all, weft::worker& me)
      : all_(all),
        me_(me),
        seed_(seed),
        own_(all.particles.row(me.rank())),
        first_(me.share_of(p.particles).first),
        count_(me.share_of(p.particles).second - first_) {
    for (std::size_t k = 0; k < count_; ++k) all.space.enter_anywhere(own_[k], dice(seed, 0, first_ + k));
    energy_to_be_ = energy();
    const auto [first, last] = me.share_of(p.cells());
    std::fill(all.cells.data() + first, all.cells.data() + last, open_cell{});
    me.barrier();
  }

  void step() {
    ++step_;
    for (std::size_t k = 0; k < count_; ++k) {
      energy_to_be_ -= energy_of(own_[k]);  // who leaves takes it along
      all_.space.fly(own_[k], dice(seed_, 2 * step_, first_ + k));
      energy_to_be_ += energy_of(own_[k]);
      add(moved_, own_[k]);
      enter_cell(own_[k], dice(seed_, 2 * step_ + 1, first_ + k));
    }
    me_.barrier();
  }

  double energy() const noexcept {
    double sum = 0;
    for (std::size_t k = 0; k < count_; ++k) sum += energy_of(own_[k]);
    return sum;
  }
  double energy_to_be() const noexcept { return energy_to_be_; }  // but for what collisions hand from worker to worker
  const content& moved() const noexcept { return moved_; }
  std::size_t outside() const noexcept {
    return static_cast<std::size_t>(std::count_if(own_, own_ + count_, [&](const particle& x) { return !all_.space.inside(x); }));
  }

 private:
  void enter_cell(particle& x, dice&& random) const {
    const std::size_t c = all_.space.cell_of(x);
    std::scoped_lock lock((*all_.locks_of_cells)[c].lock);
    open_cell& cell = all_.cells.data()[c];
    add(cell.sum, x);
    if (cell.step == step_ && cell.waiting) {
      may_collide(x, *cell.waiting, cell.sum, random);
      cell.waiting = nullptr;
    } else {
      cell.step = step_;
      cell.waiting = &x;
    }
  }

  const locked_wind& all_;
  weft::worker& me_;
  std::uint64_t seed_;
  particle* own_;
  std::size_t first_, count_, step_ = 0;
  double energy_to_be_;
  content moved_{};  // into cells, by this worker
};

// Nothing is lost: neither particles nor energy, in the cells' sums or in the particles.
std::string lost(const problem& p, const locked_wind& all, const locked_share& mine, weft::worker& me) {
  constexpr double rounding = 1e-9;
  const double is = me.sum(mine.energy()), to_be = me.sum(mine.energy_to_be()), moved = me.sum(mine.moved().energy);
  const std::uint64_t outside = me.sum(std::uint64_t{mine.outside()});
  std::uint64_t counted = 0, collisions = 0;
  double in_cells = 0;
  for (std::size_t c = 0; me.rank() == 0 && c < p.cells(); ++c) {
    const content& sum = all.cells.data()[c].sum;
    counted += sum.particles;
    collisions += sum.collisions;
    in_cells += sum.energy;
  }
  if (outside != 0) return std::to_string(outside) + " particles are in no free place";
  if (!(std::abs(is - to_be) <= rounding * to_be))
    return "the particles' energy is " + std::to_string(is) + ", not " + std::to_string(to_be);
  if (counted != p.particles * p.steps) return "cells have seen " + std::to_string(counted) + " particles";
  if (!(std::abs(in_cells - moved) <= rounding * moved)) return "cells have seen an energy of " + std::to_string(in_cells);
  return collisions == 0 && p.particles > p.cells() ? "nobody has collided" : "";
}

// --- verification ---

// Whether a collision conserves momentum and energy.
bool collisions_conserve(std::uint64_t seed) {
  constexpr double rounding = 1e-12;
  dice random(seed, 0, 0);
  particle a{}, b{};
  for (std::size_t c = 0; c < components; ++c) a.velocity[c] = random.heat(), b.velocity[c] = random.heat() + stream;
  const particle a_before = a, b_before = b;
  collide(a, b, random);
  double energy = 0;
  bool momentum = true;
  for (std::size_t c = 0; c < components; ++c) {
    const double is[2] = {a.velocity[c], b.velocity[c]}, was[2] = {a_before.velocity[c], b_before.velocity[c]};
    momentum &= std::abs(is[0] + is[1] - was[0] - was[1]) < rounding;
    energy += is[0] * is[0] + is[1] * is[1] - was[0] * was[0] - was[1] * was[1];
  }
  return momentum && std::abs(energy) < rounding;
}

bool same(const particle& a, const particle& b) {
  return std::equal(a.position, a.position + axes, b.position) && std::equal(a.velocity, a.velocity + components, b.velocity);
}
bool same(const content& a, const content& b) {
  return a.particles == b.particles && a.collisions == b.collisions && a.energy == b.energy &&
         std::equal(a.momentum, a.momentum + axes, b.momentum);
}

// Exactly the sequential run's particles and cells; and a flow: all in the tunnel, and none in the body.
std::string difference_from_sequential(const problem& p, std::uint64_t seed, const wind<app::together>& is) {
  const wind<app::alone> expected(p, 1);
  app::alone::worker me;
  share<app::alone> all(p, seed, expected, me);
  for (std::size_t step = 0; step < p.steps; ++step) all.step();
  if (!collisions_conserve(seed)) return "collisions do not conserve momentum and energy";
  const std::size_t workers = is.particles.rows();
  for (std::size_t w = 0, k = 0; w < workers; ++w)
    for (std::size_t own = 0; k < p.particles * (w + 1) / workers; ++own, ++k) {
      if (!same(is.particles.row(w)[own], all.particles()[k]))
        return "particle " + std::to_string(k) + " is elsewhere or flies elsewhere";
      if (!expected.space.inside(all.particles()[k])) return "particle " + std::to_string(k) + " is in no free place";
    }
  for (std::size_t c = 0; c < p.cells(); ++c)
    if (!same(*is.contents.row(c), *expected.contents.row(c))) return "cell " + std::to_string(c) + " holds something else";
  return {};
}

app::outcome run_with_locks(const problem& p, const app::options& o) {
  weft::team team(o.threads);
  const locked_wind all(p, team.workers());
  app::outcome result;
  team.run([&](weft::worker& me) {
    o.place(me);
    locked_share mine(p, o.seed, all, me);
    const double seconds = app::seconds_of_steps(me, p.steps, [&] { mine.step(); });
    const double energy = me.sum(mine.energy());
    const std::string difference = o.verify ? lost(p, all, mine, me) : "";
    if (me.rank() != 0) return;
    char text[32];
    std::snprintf(text, sizeof text, "%.4f", energy);
    result = {seconds, text, difference};
  });
  return result;
}

app::outcome run(const problem& p, const app::options& o) {
  weft::team team(o.threads);
  const wind<app::together> all(p, team.workers());
  app::outcome result;
  team.run([&](weft::worker& me) {
    o.place(me);
    share<app::together> mine(p, o.seed, all, me);
    const double seconds = app::seconds_of_steps(me, p.steps, [&] { mine.step(); });
    app::checksum own;
    for (std::size_t k = 0; k < mine.count(); ++k) {
      const std::size_t place = (axes + components) * (mine.first() + k);
      for (std::size_t d = 0; d < axes; ++d) own.add(place + d, mine.particles()[k].position[d]);
      for (std::size_t c = 0; c < components; ++c) own.add(place + axes + c, mine.particles()[k].velocity[c]);
    }
    const auto sum = me.sum(own.value());
    if (me.rank() != 0) return;
    result = {seconds, app::hexadecimal(sum), o.verify ? difference_from_sequential(p, o.seed, all) : ""};
  });
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  weft::job job(argc, argv);
  app::options o("Rarefied air at hypersonic speed round a body in a wind tunnel");
  problem p;
  o.number("--particles", p.particles, "how many", {1, 1u << 30});
  o.number("--steps", p.steps, "of flying and colliding", {1, 1000000});
  o.number("--length", p.length, "of the tunnel, in cells; the body takes a tenth of it", {12, 1024});
  o.number("--height", p.height, "of the tunnel, in cells", {4, 1024});
  o.number("--breadth", p.breadth, "of the tunnel, in cells", {1, 1024});
  o.flag("--lock-cells", p.lock_cells, "collide under a lock for each cell as particles come, instead of when all have moved");
  if (const auto status = o.parse(job, argc, argv)) return *status;
  const auto result = app::repeated(o, [&] { return p.lock_cells ? run_with_locks(p, o) : run(p, o); });
  return app::report(job, o, "mp3d " + std::to_string(p.particles) + " particles, " + std::to_string(p.steps) + " steps", result);
}
