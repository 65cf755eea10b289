// barnes by messages (SHRIMP, section 3: Barnes-NX, 4096 bodies): the bodies of barnes.cpp, with workers that share nothing. Who hands bodies
// over sends them, and everybody sends the trees of its zone to all.
//
//   weft run -n 4 build/bin/barnes_nx --bodies 4096 --verify [--automatic]
#include <weft/weft.h>

#include "apart.h"
#include "barnes_gravity.h"
#include "checksum.h"
#include "options.h"
#include "report.h"
#include "steps.h"

namespace app::barnes {

using outgoing = std::vector<std::span<const std::byte>>;
using incoming = std::vector<std::span<std::byte>>;

void show_crossing(apart::worker& me, const board<apart>& all) {
  show_all(me, all.crossing);
  outgoing out(me.size());
  incoming in(me.size());
  const auto bodies = [&](std::uint32_t from, std::uint32_t to) {
    const auto [first, last] = all.crossing.row(from)[to];
    return std::as_writable_bytes(std::span(all.bodies.data() + first, last - first));
  };
  for (std::uint32_t w = 0; w < me.size(); ++w)
    if (w != me.rank()) {
      out[w] = bodies(me.rank(), w);
      in[w] = bodies(w, me.rank());
    }
  me.messages().exchange(out, in);
}

// A node points to its children, which are somewhere else here.
void show_trees(apart::worker& me, const board<apart>& all, const std::vector<node*>& trees) {
  outgoing out(me.size());
  incoming in(me.size());
  const auto tree = [&](std::uint32_t w) { return std::span(trees[w], all.holds.row(w)->nodes); };
  for (std::uint32_t w = 0; w < me.size(); ++w)
    if (w != me.rank()) {
      out[w] = std::as_bytes(tree(me.rank()));
      in[w] = std::as_writable_bytes(tree(w));
    }
  me.messages().exchange(out, in);
  for (std::uint32_t w = 0; w < me.size(); ++w)
    for (node& n : tree(w))
      if (n.count > 0) n.children = trees[w] + n.first;
}

}  // namespace app::barnes

namespace {

using namespace app::barnes;

// Everybody's bodies, by their numbers, on node 0.
void gather(app::apart::worker& me, const std::vector<body>& own, body* by_id) {
  app::streams& s = me.messages();
  const auto place = [&](const body& b) { by_id[b.id] = b; };
  std::for_each(own.begin(), own.end(), place);
  std::uint64_t count = own.size();
  if (me.rank() != 0) {
    s.send(0, std::as_bytes(std::span(&count, 1)));
    return s.send(0, std::as_bytes(std::span(own)));
  }
  for (std::uint32_t w = 1; w < me.size(); ++w) {
    s.receive(w, std::as_writable_bytes(std::span(&count, 1)));
    std::vector<body> theirs(count);
    s.receive(w, std::as_writable_bytes(std::span(theirs)));
    std::for_each(theirs.begin(), theirs.end(), place);
  }
}

app::outcome run(const problem& p, const app::options& o, app::streams& between) {
  app::apart::worker me(between);
  const board<app::apart> all(p, me.size());
  gravity<app::apart> mine(p, o.seed, all, me);
  const double seconds = app::seconds_of_steps(me, p.steps, [&] { mine.step(); });
  app::checksum own;
  for (const auto& b : mine.bodies())
    for (std::size_t d = 0; d < 3; ++d) own.add(6 * b.id + d, b.position[d]), own.add(6 * b.id + 3 + d, b.velocity[d]);
  const auto sum = me.sum(own.value());
  if (!o.verify) return {seconds, app::hexadecimal(sum), ""};
  gather(me, mine.bodies(), all.bodies.data());
  const auto difference = me.rank() == 0 ? difference_from_sequential(p, o.seed, all.bodies.data()) : "";
  me.barrier();
  return {seconds, app::hexadecimal(sum), difference};
}

}  // namespace

int main(int argc, char** argv) {
  weft::job job(argc, argv);
  app::options o("Gravity among many bodies by the method of Barnes and Hut, by messages");
  problem p{4096, 4, 100};
  bool automatic = false;
  o.number("--bodies", p.bodies, "how many", {2, 1 << 24});
  o.number("--steps", p.steps, "of leapfrog", {1, 1000000});
  o.number("--opening", p.opening, "how wide a cell may be that counts as one body, in percent of its distance", {1, 100});
  o.flag("--automatic", automatic, "send by automatic update");
  if (const auto status = o.parse(job, argc, argv)) return *status;
  weft::vmmc vmmc(job);
  app::streams between(job, vmmc, automatic);
  const auto result = app::repeated(o, [&] { return run(p, o, between); });
  return app::report(job, o, "barnes_nx " + std::to_string(p.bodies) + " bodies, " + std::to_string(p.steps) + " steps", result);
}
