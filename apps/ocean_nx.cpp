// ocean by messages (SHRIMP, section 3: Ocean-NX, 514x514 points): the currents of ocean.cpp, with workers that share nothing and send each
// other the rows at their borders.
//
//   weft run -n 4 build/bin/ocean_nx --size 514 --verify [--automatic]
#include <weft/weft.h>

#include "apart.h"
#include "ocean_currents.h"
#include "options.h"
#include "report.h"
#include "steps.h"

namespace {

using namespace app::ocean;

app::outcome run(const problem& p, const app::options& o, app::streams& between) {
  app::apart::worker me(between);
  const basin<app::apart> all(p, me.size());
  currents<app::apart> mine(all, o.seed, me);
  const double seconds = app::seconds_of_steps(me, p.steps, [&] { mine.step(); });
  const auto [first, last] = me.share_of(p.size);
  const auto sum = me.sum(app::checksum_of(all.layers[0].psi, first, last).value() +
                          3 * app::checksum_of(all.layers[1].psi, first, last).value());
  if (!o.verify) return {seconds, app::hexadecimal(sum), ""};
  for (const auto& layer : all.layers) show_first(me, layer.psi);
  const auto difference = me.rank() == 0 ? difference_from_sequential(p, o.seed, all, mine.solved()) : "";
  me.barrier();
  return {seconds, app::hexadecimal(sum), difference};
}

}  // namespace

int main(int argc, char** argv) {
  weft::job job(argc, argv);
  app::options o("Currents in a wind-driven ocean of two layers, by messages");
  problem p{514, 1};
  bool automatic = false;
  o.number("--size", p.size, "rows and columns with the border, two rows a node at least", {4, 16386});
  o.number("--steps", p.steps, "of an hour", {1, 1000000});
  o.flag("--automatic", automatic, "send by automatic update");
  const auto objection = [&] { return p.size < 2 * job.nodes() ? std::string("--size: two rows for each node at least") : ""; };
  if (const auto status = o.parse(job, argc, argv, objection)) return *status;
  weft::vmmc vmmc(job);
  app::streams between(job, vmmc, automatic);
  const auto result = app::repeated(o, [&] { return run(p, o, between); });
  return app::report(
      job, o, "ocean_nx " + std::to_string(p.size) + "x" + std::to_string(p.size) + ", " + std::to_string(p.steps) + " steps",
      result);
}
