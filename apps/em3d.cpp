// em3d: electromagnetic waves in three dimensions, on a graph (Culler and others: Parallel programming in Split-C, 1993; 65536 nodes
// in Cashmere 3.1).
//
// Electric and magnetic values are the nodes of a graph whose edges join one kind with the other: those that are near each other in
// space. A step makes the new electric values from the magnetic ones next to them, and then the new magnetic ones from these; an
// edge counts in both directions, with opposite signs, so the field's energy stays bounded. The graph is random. It is divided into
// parts, one for each worker if nothing else is said; an edge stays in its part, or, with a probability of 5%, goes to the part
// before or after it.
//
// Shared are the values only, those of a part from a page's start on (Cashmere 4.1). The edges never change and only the owner of a
// node uses them: they are private. Split-C's nodes are records with a value, a count, and pointers to weights, values and the next node,
// 24 bytes on its machines: `--record 24` puts the values as far apart. Each value is a sum in the order of its edges, so the result does
// not depend on the workers.
//
//   weft run -n 4 build/bin/em3d --nodes 65536 --verify
#include <weft/weft.h>

#include <vector>

#include "bands.h"
#include "options.h"
#include "random.h"
#include "report.h"
#include "steps.h"

namespace {

struct problem {
  std::size_t nodes = 65536, degree = 10, remote = 5, parts = 0, steps = 10, record = sizeof(double);
};

struct node {
  std::size_t part, place;
};

struct edge {
  node electric, magnetic;
  double weight;
};

// The random graph, by index: anybody computes any edge of it.
class graph {
 public:
  graph(const problem& p, std::uint64_t seed) : p_(p), seed_(seed) {}

  std::size_t parts() const noexcept { return p_.parts; }
  std::size_t degree() const noexcept { return p_.degree; }
  std::size_t of_a_kind() const noexcept { return p_.nodes / 2; }
  std::size_t first_of(std::size_t part) const noexcept { return of_a_kind() * part / parts(); }
  std::size_t size_of(std::size_t part) const noexcept { return first_of(part + 1) - first_of(part); }
  std::size_t largest() const noexcept { return (of_a_kind() + parts() - 1) / parts(); }

  // The edges of one part's electric nodes, node by node.
  template <typename Visit>
  void for_edges_of(std::size_t part, Visit&& visit) const {
    for (std::size_t place = 0; place < size_of(part); ++place)
      for (std::size_t k = 0; k < degree(); ++k) {
        const std::size_t index = 4 * ((first_of(part) + place) * degree() + k);
        const std::size_t other = part_at_the_end(part, index);
        const auto there = static_cast<std::size_t>(app::random_unit(seed_, index + 2) * static_cast<double>(size_of(other)));
        visit(edge{{part, place}, {other, there}, app::random_unit(seed_, index + 3) / static_cast<double>(degree())});
      }
  }

  // Initial values of both kinds, by number.
  double electric(std::size_t number) const noexcept { return app::random_unit(~seed_, 2 * number) - 0.5; }
  double magnetic(std::size_t number) const noexcept { return app::random_unit(~seed_, 2 * number + 1) - 0.5; }

 private:
  std::size_t part_at_the_end(std::size_t part, std::size_t index) const noexcept {
    if (app::random_unit(seed_, index) * 100 >= static_cast<double>(p_.remote)) return part;
    return (part + (app::random_bits(seed_, index + 1) % 2 == 0 ? 1 : parts() - 1)) % parts();
  }

  problem p_;
  std::uint64_t seed_;
};

// The values of one kind, by part.
class values {
 public:
  // Together.
  values(const problem& p, std::size_t largest_part, std::size_t workers)
      : apart_(p.record / sizeof(double)), rows_(p.parts, largest_part * apart_, workers) {}

  double& at(const node& n) const noexcept { return rows_.row(n.part)[n.place * apart_]; }

 private:
  std::size_t apart_;
  app::bands<double, app::together> rows_;  // one for each part
};

// What one part's values of one kind are made of: for each, the values of the other kind next to it and their weights, in the order
// in which they are added up.
class neighbourhood {
 public:
  explicit neighbourhood(std::size_t size) : first_(size + 1) {}

  // Twice the same edges in the same order: counted, and then put where they belong.
  void count(std::size_t place) { ++first_[place + 1]; }
  void counted() {
    for (std::size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
    next_.assign(first_.begin(), first_.end() - 1);
    from_.resize(first_.back());
    weights_.resize(first_.back());
  }
  void put(std::size_t place, const double* from, double weight) {
    from_[next_[place]] = from;
    weights_[next_[place]++] = weight;
  }

  void add_to(const values& own, std::size_t part) const {
    for (std::size_t i = 0; i + 1 < first_.size(); ++i) {
      double sum = 0;
      for (std::size_t k = first_[i]; k < first_[i + 1]; ++k) sum += weights_[k] * *from_[k];
      own.at({part, i}) += sum;
    }
  }

 private:
  std::vector<std::size_t> first_, next_;
  std::vector<const double*> from_;
  std::vector<double> weights_;
};

// A part as its owner sees it.
class part {
 public:
  part(const graph& g, std::size_t number, const values& electric, const values& magnetic)
      : number_(number),
        electric_values_(electric),
        magnetic_values_(magnetic),
        electric_(g.size_of(number)),
        magnetic_(g.size_of(number)) {
    // Edges to this part's magnetic nodes begin in this part and in those next to it.
    std::vector<bool> near(g.parts());
    near[number] = near[(number + 1) % g.parts()] = near[(number + g.parts() - 1) % g.parts()] = true;
    const auto for_edges = [&](auto&& of_electric, auto&& of_magnetic) {
      for (std::size_t p = 0; p < g.parts(); ++p)
        if (near[p])
          g.for_edges_of(p, [&](const edge& e) {
            if (p == number) of_electric(e);
            if (e.magnetic.part == number) of_magnetic(e);
          });
    };
    for_edges([&](const edge& e) { electric_.count(e.electric.place); }, [&](const edge& e) { magnetic_.count(e.magnetic.place); });
    electric_.counted();
    magnetic_.counted();
    for_edges([&](const edge& e) { electric_.put(e.electric.place, &magnetic.at(e.magnetic), e.weight); },
              [&](const edge& e) { magnetic_.put(e.magnetic.place, &electric.at(e.electric), -e.weight); });
    for (std::size_t i = 0; i < g.size_of(number); ++i) {
      electric.at({number, i}) = g.electric(g.first_of(number) + i);
      magnetic.at({number, i}) = g.magnetic(g.first_of(number) + i);
    }
  }

  void step_electric() const { electric_.add_to(electric_values_, number_); }
  void step_magnetic() const { magnetic_.add_to(magnetic_values_, number_); }

 private:
  std::size_t number_;
  const values &electric_values_, &magnetic_values_;
  neighbourhood electric_, magnetic_;
};

// --- verification ---

// All edges, one after the other, each adding its share.
std::string difference_from_sequential(const graph& g, std::size_t steps, const values& electric, const values& magnetic) {
  std::vector<double> e(g.of_a_kind()), h(g.of_a_kind()), sum(g.of_a_kind());
  for (std::size_t i = 0; i < g.of_a_kind(); ++i) e[i] = g.electric(i), h[i] = g.magnetic(i);
  const auto number = [&](const node& n) { return g.first_of(n.part) + n.place; };
  const auto half_step = [&](std::vector<double>& own, auto&& contribute) {
    std::fill(sum.begin(), sum.end(), 0.0);
    for (std::size_t p = 0; p < g.parts(); ++p) g.for_edges_of(p, contribute);
    for (std::size_t i = 0; i < own.size(); ++i) own[i] += sum[i];
  };
  for (std::size_t step = 0; step < steps; ++step) {
    half_step(e, [&](const edge& x) { sum[number(x.electric)] += x.weight * h[number(x.magnetic)]; });
    half_step(h, [&](const edge& x) { sum[number(x.magnetic)] += -x.weight * e[number(x.electric)]; });
  }
  for (std::size_t p = 0; p < g.parts(); ++p)
    for (std::size_t i = 0; i < g.size_of(p); ++i) {
      const std::size_t k = g.first_of(p) + i;
      if (electric.at({p, i}) != e[k] || magnetic.at({p, i}) != h[k])
        return "nodes " + std::to_string(k) + " are " + std::to_string(electric.at({p, i})) + " and " +
               std::to_string(magnetic.at({p, i})) + ", not " + std::to_string(e[k]) + " and " + std::to_string(h[k]);
    }
  return {};
}

app::outcome run(const problem& p, const app::options& o) {
  weft::team team(o.threads);
  const graph g(p, o.seed);
  const values electric(p, g.largest(), team.workers()), magnetic(p, g.largest(), team.workers());
  app::outcome result;
  team.run([&](weft::worker& me) {
    o.place(me);
    const auto [first, last] = me.share_of(p.parts);
    std::vector<part> mine;
    for (std::size_t number = first; number < last; ++number) mine.emplace_back(g, number, electric, magnetic);
    const double seconds = app::seconds_of_steps(me, p.steps, [&] {
      for (const auto& one : mine) one.step_electric();
      me.barrier();
      for (const auto& one : mine) one.step_magnetic();
      me.barrier();
    });
    app::checksum own;
    for (std::size_t number = first; number < last; ++number)
      for (std::size_t i = 0; i < g.size_of(number); ++i) {
        own.add(2 * (g.first_of(number) + i), electric.at({number, i}));
        own.add(2 * (g.first_of(number) + i) + 1, magnetic.at({number, i}));
      }
    const auto sum = me.sum(own.value());
    if (me.rank() != 0) return;
    result = {seconds, app::hexadecimal(sum), o.verify ? difference_from_sequential(g, p.steps, electric, magnetic) : ""};
  });
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  weft::job job(argc, argv);
  app::options o("Electromagnetic waves on a random graph of electric and magnetic nodes");
  problem p;
  o.number("--nodes", p.nodes, "electric and magnetic ones together", {2, 1u << 30});
  o.number("--degree", p.degree, "magnetic neighbours of an electric node", {1, 1000});
  o.number("--remote", p.remote, "of a hundred edges, those that lead to another part", {0, 100});
  o.number("--parts", p.parts, "of the graph; 0 is one for each worker", {0, 1 << 16});
  o.number("--steps", p.steps, "new values of every node", {1, 1000000});
  o.number("--record", p.record, "bytes of a node's record, 24 in Split-C; 8: the values lie together", {8, 4096});
  const auto status = o.parse(job, argc, argv, [&] {
    if (p.parts == 0) p.parts = std::size_t{job.nodes()} * o.threads;
    if (p.record % sizeof(double) != 0) return "--record: a whole number of doubles";
    return p.nodes / 2 < p.parts ? "--nodes: at least one of each kind for every part" : "";
  });
  if (status) return *status;
  const auto result = app::repeated(o, [&] { return run(p, o); });
  return app::report(
      job, o,
      "em3d " + std::to_string(p.nodes) + " nodes in " + std::to_string(p.parts) + " parts, " + std::to_string(p.steps) + " steps",
      result);
}
