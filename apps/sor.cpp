// sor: the steady-state temperature of a metal sheet by red-black successive over-relaxation, in bands of rows, with barriers
// (Cashmere 3.1).
//
//   weft run -n 4 build/bin/sor --size 2048 --steps 50 --verify
#include <weft/weft.h>

#include "options.h"
#include "progress.h"
#include "report.h"
#include "sor_grid.h"
#include "timing.h"

namespace {

struct problem {
  std::size_t size = 1024, steps = 100;
  bool unplaced = false, single = false, plain = false;
};

template <typename Number>
void relax_band(app::sor_grid<Number>& grid, std::size_t steps, weft::worker& me) {
  const auto [first, last] = grid.band_of(me);
  app::progress bar(me, steps);
  for (std::size_t step = 0; step < steps; ++step) {
    grid.relax_first_half(first, last);
    me.barrier();
    grid.relax_second_half(first, last);
    me.barrier();
    bar.reached(step + 1);
  }
}

template <typename Number>
app::outcome run(const problem& p, const app::options& o) {
  app::sor_grid<Number> grid(p.size, p.size, p.plain, p.unplaced ? weft::placement{} : weft::placement::block());
  app::outcome result;
  weft::team(o.threads).run([&](weft::worker& me) {
    o.place(me);
    const auto [first, last] = me.share_of(p.size);
    if (!p.unplaced)
      grid.initialise(o.seed, first, last);
    else if (me.rank() == 0)
      grid.initialise(o.seed, 0, p.size);
    const double seconds = app::seconds_of(me, [&] { relax_band(grid, p.steps, me); });
    const auto sum = me.sum(grid.checksum_of(first, last).value());
    if (me.rank() != 0) return;
    result = {seconds, app::hexadecimal(sum), o.verify ? grid.difference_from_sequential(o.seed, p.steps) : ""};
  });
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  weft::job job(argc, argv);
  app::options o("Temperature of a metal sheet: red-black successive over-relaxation with barriers");
  problem p;
  o.number("--size", p.size, "rows and columns of the grid", {3, 65536});
  o.number("--steps", p.steps, "relaxations of every point", {1, 1000000});
  o.flag("--unplaced", p.unplaced, "let node 0 initialise everything and say nothing about where pages belong");
  o.flag("--single", p.single, "numbers of four bytes");
  o.flag("--plain", p.plain, "red and black points alternate in one array, and sweeps are whole");
  if (const auto status = o.parse(job, argc, argv)) return *status;
  const auto result = app::repeated(o, [&] { return p.single ? run<float>(p, o) : run<double>(p, o); });
  return app::report(
      job, o, "sor " + std::to_string(p.size) + "x" + std::to_string(p.size) + ", " + std::to_string(p.steps) + " steps", result);
}
