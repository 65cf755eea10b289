// sor_lock: sor without barriers. Locks protect the first and last row of every band; a worker acquires its neighbours' before it
// uses them (sor_l of Cashmere 3.1 and 4.1).
//
//   weft run -n 4 build/bin/sor_lock --size 2048 --steps 50 --verify
#include <weft/weft.h>

#include <mutex>
#include <vector>

#include "options.h"
#include "progress.h"
#include "report.h"
#include "shared.h"
#include "sor_grid.h"
#include "timing.h"

namespace {

struct problem {
  std::size_t size = 1024, steps = 100;
  bool single = false, plain = false;
};

// Hands a row from its owner to the neighbour, half step after half step. The owner holds the lock of half step h while it computes
// in it, and takes the next one's before it lets go of this one's; so whoever gets the lock of h afterwards sees the row as h left
// it.
//
// Three locks suffice. The owner takes that of h + 1, which was that of h - 2, at the end of h; by then the neighbour has finished
// h - 1, for which it needed the row of h - 2.
class row_lock {
 public:
  void begin() { lock_of(0).lock(); }
  void finish(std::size_t half_step) {
    lock_of(half_step + 1).lock();
    lock_of(half_step).unlock();
  }
  void end(std::size_t half_steps) { lock_of(half_steps).unlock(); }

  void wait_for(std::size_t half_step) { std::scoped_lock seen(lock_of(half_step)); }

 private:
  struct alignas(64) padded {
    weft::mutex lock;
  };
  weft::mutex& lock_of(std::size_t half_step) noexcept { return locks_[half_step % 3].lock; }

  padded locks_[3];
};

struct band_locks {
  row_lock first, last;
};
using all_locks = std::vector<band_locks, weft::allocator<band_locks>>;

// A worker's own rows and the neighbours' next to them; at the sheet's border there is no neighbour.
class band {
 public:
  band(all_locks& locks, const weft::worker& me)
      : own_(locks[me.rank()]),
        above_(me.rank() > 0 ? &locks[me.rank() - 1].last : nullptr),
        below_(me.rank() + 1 < me.size() ? &locks[me.rank() + 1].first : nullptr) {}

  void begin() {
    own_.first.begin();
    own_.last.begin();
  }
  void wait_for_neighbours() {
    if (half_step_ == 0) return;  // the rows as they were initialised
    if (above_) above_->wait_for(half_step_ - 1);
    if (below_) below_->wait_for(half_step_ - 1);
  }
  void finish_half_step() {
    own_.first.finish(half_step_);
    own_.last.finish(half_step_);
    ++half_step_;
  }
  void end() {
    own_.first.end(half_step_);
    own_.last.end(half_step_);
  }

 private:
  band_locks& own_;
  row_lock *above_, *below_;
  std::size_t half_step_ = 0;
};

template <typename Number>
void relax_band(app::sor_grid<Number>& grid, band& mine, std::size_t steps, weft::worker& me) {
  const auto [first, last] = grid.band_of(me);
  app::progress bar(me, steps);
  for (std::size_t step = 0; step < steps; ++step) {
    mine.wait_for_neighbours();
    grid.relax_first_half(first, last);
    mine.finish_half_step();
    mine.wait_for_neighbours();
    grid.relax_second_half(first, last);
    mine.finish_half_step();
    bar.reached(step + 1);
  }
}

template <typename Number>
app::outcome run(const problem& p, const app::options& o) {
  app::sor_grid<Number> grid(p.size, p.size, p.plain, weft::placement::block());
  weft::team team(o.threads);
  const app::shared_object<all_locks> locks(team.workers());
  app::outcome result;
  team.run([&](weft::worker& me) {
    o.place(me);
    const auto [first, last] = me.share_of(p.size);
    grid.initialise(o.seed, first, last);
    band mine(*locks, me);
    mine.begin();
    const double seconds = app::seconds_of(me, [&] { relax_band(grid, mine, p.steps, me); });
    mine.end();
    const auto sum = me.sum(grid.checksum_of(first, last).value());
    if (me.rank() != 0) return;
    result = {seconds, app::hexadecimal(sum), o.verify ? grid.difference_from_sequential(o.seed, p.steps) : ""};
  });
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  weft::job job(argc, argv);
  app::options o("Temperature of a metal sheet: red-black successive over-relaxation with locks");
  problem p;
  o.number("--size", p.size, "rows and columns of the grid", {3, 65536});
  o.number("--steps", p.steps, "relaxations of every point", {1, 1000000});
  o.flag("--single", p.single, "numbers of four bytes");
  o.flag("--plain", p.plain, "red and black points alternate in one array, and sweeps are whole");
  const auto status = o.parse(job, argc, argv, [&] {
    // A worker without rows would keep its neighbours from seeing each other's.
    return p.size < 2 * std::size_t{job.nodes()} * o.threads ? "--size: at least two rows for every worker" : "";
  });
  if (status) return *status;
  const auto result = app::repeated(o, [&] { return p.single ? run<float>(p, o) : run<double>(p, o); });
  return app::report(
      job, o, "sor_lock " + std::to_string(p.size) + "x" + std::to_string(p.size) + ", " + std::to_string(p.steps) + " steps",
      result);
}
