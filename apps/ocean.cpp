// ocean: currents in a wind-driven ocean basin (after the SPLASH program: 130x130 points in SHRIMP Table 1).
//
// Two layers of water, moved by wind: the equations are in ocean_currents.h.
//
// The basin is distributed in blocks of whole rows, as SHRIMP has it. A block begins at a page of its own, or with `--packed` where the one before
// it ends, as in a matrix that is allocated as a whole. A worker writes its own rows and reads those next to them. Sums
// go over a point's neighbours only and what all workers find out together is a largest number, so the result does not depend on the
// workers. Tendencies nobody else needs; they are private.
//
//   weft run -n 4 build/bin/ocean --size 130 --verify
#include <weft/weft.h>

#include "ocean_currents.h"
#include "options.h"
#include "report.h"
#include "steps.h"

namespace {

using namespace app::ocean;

app::outcome run(const problem& p, const app::options& o) {
  weft::team team(o.threads);
  const basin<app::together> all(p, team.workers());
  app::outcome result;
  team.run([&](weft::worker& me) {
    o.place(me);
    currents<app::together> mine(all, o.seed, me);
    const double seconds = app::seconds_of_steps(me, p.steps, [&] { mine.step(); });
    const auto [first, last] = me.share_of(p.size);
    const auto sum = me.sum(app::checksum_of(all.layers[0].psi, first, last).value() +
                            3 * app::checksum_of(all.layers[1].psi, first, last).value());
    if (me.rank() != 0) return;
    result = {seconds, app::hexadecimal(sum), o.verify ? difference_from_sequential(p, o.seed, all, mine.solved()) : ""};
  });
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  weft::job job(argc, argv);
  app::options o("Currents in a wind-driven ocean of two layers");
  problem p;
  o.number("--size", p.size, "rows and columns with the border; two more than a multiple of a high power of two is best",
           {4, 16386});
  o.number("--steps", p.steps, "of an hour", {1, 1000000});
  o.number("--digits", p.digits, "to which the equations are solved", {1, 12});
  o.flag("--packed", p.packed, "rows lie one after another, so that workers share the pages where their rows meet");
  if (const auto status = o.parse(job, argc, argv)) return *status;
  const auto result = app::repeated(o, [&] { return run(p, o); });
  return app::report(
      job, o, "ocean " + std::to_string(p.size) + "x" + std::to_string(p.size) + ", " + std::to_string(p.steps) + " steps", result);
}
