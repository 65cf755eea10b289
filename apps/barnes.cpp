// barnes: gravity among many bodies by the method of Barnes and Hut (A hierarchical O(N log N) force-calculation algorithm, 1986):
// 16384 bodies in SHRIMP Table 1, 32768 in ViSMI Table 2. The bodies are a Plummer sphere; the tree is in barnes_tree.h.
//
// Bodies that cross a border between zones and the trees of the zones are handed over through shared memory: barnes_gravity.h. A page of the
// tree is written by one worker, and read by the others when it is final.
//
//   weft run -n 4 build/bin/barnes --bodies 32768 --verify
#include <weft/weft.h>

#include "barnes_gravity.h"
#include "barnes_in_place.h"
#include "checksum.h"
#include "options.h"
#include "report.h"
#include "steps.h"

namespace {

using namespace app::barnes;

template <typename Gravity>
double seconds_of(weft::worker& me, const problem& p, Gravity& mine) {
  for (std::size_t done = 0; done < p.before; ++done) mine.step();
  return app::seconds_of_steps(me, p.steps - p.before, [&] { mine.step(); });
}

void add(app::checksum& to, const body& b) {
  for (std::size_t d = 0; d < 3; ++d) to.add(6 * b.id + d, b.position[d]), to.add(6 * b.id + 3 + d, b.velocity[d]);
}

app::outcome run(const problem& p, const app::options& o) {
  weft::team team(o.threads);
  const board<app::together> all(p, team.workers());
  app::outcome result;
  team.run([&](weft::worker& me) {
    o.place(me);
    gravity<app::together> mine(p, o.seed, all, me);
    const double seconds = seconds_of(me, p, mine);
    app::checksum own;
    for (const auto& b : mine.bodies()) {
      add(own, b);
      all.bodies.data()[b.id] = b;
    }
    const auto sum = me.sum(own.value());
    if (me.rank() != 0) return;
    result = {seconds, app::hexadecimal(sum), o.verify ? difference_from_sequential(p, o.seed, all.bodies.data()) : ""};
  });
  return result;
}

app::outcome run_in_place(const problem& p, const app::options& o) {
  weft::team team(o.threads);
  const grove all(p, team.workers());
  app::outcome result;
  team.run([&](weft::worker& me) {
    o.place(me);
    gravity_in_place mine(p, o.seed, all, me);
    const double seconds = seconds_of(me, p, mine);
    app::checksum own;
    for (const auto* b : mine.bodies()) add(own, *b);
    const auto sum = me.sum(own.value());
    if (me.rank() != 0) return;
    const std::vector<body> by_id(all.bodies.data(), all.bodies.data() + p.bodies);
    result = {seconds, app::hexadecimal(sum), o.verify ? difference_from_sequential(p, o.seed, by_id.data()) : ""};
  });
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  weft::job job(argc, argv);
  app::options o("Gravity among many bodies by the method of Barnes and Hut");
  problem p;
  o.number("--bodies", p.bodies, "how many", {2, 1 << 24});
  o.number("--steps", p.steps, "of leapfrog", {1, 1000000});
  o.number("--opening", p.opening, "how wide a cell may be that counts as one body, in percent of its distance", {1, 100});
  o.number("--before", p.before, "how many of the first steps are not timed", {0, 999999});
  o.flag("--in-place", p.in_place, "leave bodies where they are, in one tree that all build together, with locks");
  const auto status =
      o.parse(job, argc, argv, [&] { return p.before < p.steps ? "" : "--before: at least one of the steps must be timed"; });
  if (status) return *status;
  const auto result = app::repeated(o, [&] { return p.in_place ? run_in_place(p, o) : run(p, o); });
  return app::report(job, o, "barnes " + std::to_string(p.bodies) + " bodies, " + std::to_string(p.steps) + " steps", result);
}
