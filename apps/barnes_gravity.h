// The bodies of barnes.cpp, their exchange and their motion, for workers in shared memory and for workers with messages between them. The
// tree is in barnes_tree.h.
//
// Space is divided among the workers along the Morton curve, into zones of the same work: what the bodies cost in the step before.
// Bodies live in the private memory of the worker that owns their zone. In each step
//   - all agree on the cube that holds the bodies, and on the zones' borders, from a sample of every worker's keys;
//   - bodies that crossed a border are handed over;
//   - everybody builds the trees of the own zone, and shows them to all;
//   - everybody puts the top of the tree together for itself, walks the whole tree for each own body, and moves it.
// The tree is the same for any number of workers (see barnes_tree.h) and a body is attracted in the tree's order, so the result does not
// depend on them.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include <weft/weft.h>

#include "bands.h"
#include "barnes_tree.h"
#include "random.h"

namespace app::barnes {

inline constexpr double time_step = 0.025;
inline constexpr std::size_t samples = 64;  // of a worker's keys; a border is right to such a part of a worker's work

struct problem {
  std::size_t bodies = 16384, steps = 4, opening = 100;
  std::size_t before = 0;  // of the steps: those that are not timed
  bool in_place = false;   // barnes_in_place.h
};

// --- the input ---

// Numbers for one body, one after the other.
class stream {
 public:
  stream(std::uint64_t seed, std::size_t body) : seed_(random_bits(seed, body)) {}
  double next() noexcept { return random_unit(seed_, used_++); }

  // In a random direction.
  std::array<double, 3> vector(double length) noexcept {
    const double z = 2 * next() - 1, angle = 2 * std::numbers::pi * next(), in_plane = length * std::sqrt(1 - z * z);
    return {in_plane * std::cos(angle), in_plane * std::sin(angle), length * z};
  }

 private:
  std::uint64_t seed_, used_ = 0;
};

// Plummer's model in units where the constant of gravity, the mass and four times the energy are 1 (Aarseth, Henon, Wielen: A
// comparison of numerical methods for the study of star cluster dynamics, 1974).
inline body plummer(std::uint64_t seed, std::size_t id, std::size_t bodies) {
  constexpr double scale = 3 * std::numbers::pi / 16, outermost = 0.98;  // outermost: of the mass; the rest would be far away
  stream random(seed, id);
  const double radius = 1 / std::sqrt(std::pow(outermost * (random.next() + 0x1p-54), -2.0 / 3) - 1);
  double share, probability;
  do {
    share = random.next();  // of the velocity with which it could escape
    probability = share * share * std::pow(1 - share * share, 3.5);
  } while (0.1 * random.next() > probability);
  const double speed = share * std::sqrt(2.0) * std::pow(1 + radius * radius, -0.25);
  body b{};
  const auto x = random.vector(radius * scale), v = random.vector(speed / std::sqrt(scale));
  std::copy(x.begin(), x.end(), b.position);
  std::copy(v.begin(), v.end(), b.velocity);
  b.mass = 1 / static_cast<double>(bodies);
  b.id = id;
  b.cost = 1;
  return b;
}

// --- what workers tell each other ---

// A worker's keys: the first body of each of `samples` parts of the same cost.
struct sampled {
  std::uint64_t cost;
  std::uint64_t keys[samples];
};

struct handed_over {
  std::size_t first, last;
};

struct held {
  std::size_t bodies, nodes;
};

template <typename Where>
class board {
 public:
  // Together.
  board(const problem& p, std::size_t workers)
      : sample(workers, 1, workers),
        crossing(workers, workers, workers),
        holds(workers, 1, workers),
        most_nodes(nodes_for(p.bodies) + workers * 3 * nodes_a_page),
        bodies(p.bodies + workers * bodies_apart, weft::placement::block()),
        nodes(most_nodes, weft::placement::block()) {}

  static constexpr std::size_t nodes_a_page = weft::page_size / sizeof(node);
  static constexpr std::size_t bodies_apart = weft::page_size / sizeof(body) + 2;  // so that workers write to no common page

  // By worker.
  bands<sampled, Where> sample;
  bands<handed_over, Where> crossing;  // and by receiver: where in `bodies`
  bands<held, Where> holds;

  const std::size_t most_nodes;
  typename Where::template array<body> bodies;  // that change hands; a worker's bodies all have a place, one worker after the other
  typename Where::template array<node> nodes;   // one worker's trees after the other's, from a page's start each

 private:
  // Bodies, the cells of them that are always there, and twice the bodies for smaller cells.
  static std::size_t nodes_for(std::size_t bodies_) {
    std::size_t sum = 3 * bodies_;
    for (unsigned level = 0; level <= zone_level; ++level) sum += std::min<std::size_t>(bodies_, std::size_t{1} << 3 * level);
    return sum;
  }
};

// Workers in shared memory meet, and then read what others wrote. Others send it: barnes_nx.cpp.
template <sharing Worker, typename Where>
void show_crossing(Worker& me, const board<Where>&) {
  me.barrier();
}
template <sharing Worker, typename Where>
void show_trees(Worker& me, const board<Where>&, const std::vector<node*>&) {
  me.barrier();
}

// --- one worker's part ---

template <typename Where>
class gravity {
 public:
  using worker = typename Where::worker;

  gravity(const problem& p, std::uint64_t seed, const board<Where>& all, worker& me)
      : all_(all),
        me_(me),
        opening_(static_cast<double>(p.opening) / 100),
        least_(p.in_place ? 1 : zone_level),
        bodies_before_(me.share_of(p.bodies).first) {
    for (std::size_t id = bodies_before_; id < me.share_of(p.bodies).second; ++id) own_.push_back(plummer(seed, id, p.bodies));
  }

  // Leapfrog: the first kick brings the velocities half a step ahead of the positions.
  void step() {
    const node* root = tree();
    const double kick = steps_++ == 0 ? time_step / 2 : time_step;
    for (auto& b : own_) {
      pull sum;
      attract(*root, b.position, sum);
      b.cost = sum.interactions;
      for (std::size_t d = 0; d < 3; ++d) {
        b.velocity[d] += kick * sum.acceleration[d];
        b.position[d] += time_step * b.velocity[d];
      }
    }
  }

  // Of all bodies where they are now; its root.
  const node* tree() {
    const cube space = enclosing();
    for (auto& b : own_) b.key = space.key_of(b.position);
    std::sort(own_.begin(), own_.end(), in_order);
    tell_sample();
    show_all(me_, all_.sample);
    const zones borders = divided();
    hand_over(borders);
    show_crossing(me_, all_);
    take_over();
    const builder build(space, opening_, least_);
    const auto draft = build.trees_of(own_, borders, me_.rank());
    *all_.holds.row(me_.rank()) = {own_.size(), draft.size()};
    show_all(me_, all_.holds);
    const auto trees = places();
    settle(draft, trees[me_.rank()]);
    show_trees(me_, all_, trees);
    top_ = build.top_of(borders, trees);
    return &top_.back();
  }

  const std::vector<body>& bodies() const noexcept { return own_; }

 private:
  cube enclosing() {
    extent mine;
    for (const auto& b : own_) mine.include(b.position);
    return cube(me_.reduce(mine, [](const extent& a, const extent& b) { return a.joined(b); }));
  }

  void tell_sample() {
    sampled& mine = *all_.sample.row(me_.rank());
    mine.cost = 0;
    for (const auto& b : own_) mine.cost += b.cost;
    std::uint64_t before = 0;
    std::size_t next = 0;
    for (const auto& b : own_) {
      for (; next < samples && before * samples >= mine.cost * next; ++next) mine.keys[next] = b.key;
      before += b.cost;
    }
    while (next < samples) mine.keys[next++] = own_.empty() ? 0 : own_.back().key;
  }

  // Everybody computes the same borders from what everybody tells.
  zones divided() const {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> parts;  // a key, and the cost of what follows it, times `samples`
    std::uint64_t whole = 0;
    for (std::uint32_t w = 0; w < me_.size(); ++w) {
      const sampled& s = *all_.sample.row(w);
      if (s.cost == 0) continue;
      for (const auto key : s.keys) parts.emplace_back(key, s.cost);
      whole += samples * s.cost;
    }
    std::sort(parts.begin(), parts.end());
    zones borders(me_.size());
    std::uint64_t sum = 0;
    std::uint32_t w = 1;
    for (const auto& [key, cost] : parts) {
      for (; w < me_.size() && sum >= whole / me_.size() * w; ++w) borders.begin(w, key);
      sum += cost;
    }
    return borders;
  }

  // Puts bodies that are in others' zones where these find them.
  void hand_over(const zones& borders) {
    std::size_t place = bodies_before_ + me_.rank() * all_.bodies_apart;
    std::vector<body> staying;
    auto next = own_.begin();
    for (std::uint32_t to = 0; to < me_.size(); ++to) {
      const auto last = std::partition_point(next, own_.end(), [&](const body& b) { return borders.owner(b.key) <= to; });
      const std::size_t first = place;
      if (to == me_.rank())
        staying.assign(next, last);
      else
        place = static_cast<std::size_t>(std::copy(next, last, all_.bodies.data() + place) - all_.bodies.data());
      all_.crossing.row(me_.rank())[to] = {first, place};
      next = last;
    }
    own_.swap(staying);
  }
  void take_over() {
    for (std::uint32_t from = 0; from < me_.size(); ++from) {
      const auto [first, last] = all_.crossing.row(from)[me_.rank()];
      own_.insert(own_.end(), all_.bodies.data() + first, all_.bodies.data() + last);
    }
    std::sort(own_.begin(), own_.end(), in_order);
  }

  // Where each worker's trees are, from what everybody holds.
  std::vector<node*> places() {
    std::vector<node*> trees;
    std::size_t nodes = 0, bodies = 0;
    for (std::uint32_t w = 0; w < me_.size(); ++w) {
      const held h = *all_.holds.row(w);
      trees.push_back(all_.nodes.data() + nodes);
      if (w == me_.rank()) bodies_before_ = bodies;
      bodies += h.bodies;
      nodes += (h.nodes + all_.nodes_a_page - 1) / all_.nodes_a_page * all_.nodes_a_page;
    }
    if (nodes > all_.most_nodes) throw weft::error(weft::errc::too_large, "bodies have come so close that the tree has no room");
    return trees;
  }

  const board<Where>& all_;
  worker& me_;
  double opening_;
  unsigned least_;             // level of cells
  std::size_t bodies_before_;  // those of the workers before this one
  std::size_t steps_ = 0;
  std::vector<body> own_;
  std::vector<node> top_;
};

// --- verification ---

// How far the tree's forces are from those of all bodies one by one, in parts of these; on some of the bodies.
inline double error_of_forces(const node& root, const std::vector<body>& bodies) {
  double error = 0, size = 0;
  for (std::size_t i = 0; i < bodies.size(); i += 1 + bodies.size() / 100) {
    pull from_tree, directly;
    attract(root, bodies[i].position, from_tree);
    for (const auto& b : bodies) {
      double distance[3], square = 0;
      for (std::size_t d = 0; d < 3; ++d) distance[d] = b.position[d] - bodies[i].position[d], square += distance[d] * distance[d];
      directly.of(b.mass, distance, square);
    }
    for (std::size_t d = 0; d < 3; ++d) {
      error += std::pow(from_tree.acceleration[d] - directly.acceleration[d], 2);
      size += std::pow(directly.acceleration[d], 2);
    }
  }
  return std::sqrt(error / size);
}

// Exactly the sequential run's positions and velocities; and gravity, as the tree approximates it.
inline std::string difference_from_sequential(const problem& p, std::uint64_t seed, const body* by_id) {
  constexpr double tolerance = 0.05;
  const board<alone> all(p, 1);
  alone::worker me;
  gravity<alone> expected(p, seed, all, me);
  for (std::size_t step = 0; step < p.steps; ++step) expected.step();
  for (const auto& e : expected.bodies())
    for (std::size_t d = 0; d < 3; ++d)
      if (by_id[e.id].position[d] != e.position[d] || by_id[e.id].velocity[d] != e.velocity[d])
        return "body " + std::to_string(e.id) + " is elsewhere by " + std::to_string(by_id[e.id].position[d] - e.position[d]);
  const double error = error_of_forces(*expected.tree(), expected.bodies());
  return error <= tolerance ? "" : "forces are wrong by " + std::to_string(error) + " of what they are";
}

}  // namespace app::barnes
