// The tree of barnes: cells of space, each with its mass and where that has its centre; and the attraction of all of it.
//
// A cell is half as wide as the one that it is part of, and has a number along the Morton curve: three bits more than its parent's.
// Cells are divided at least down to `zone_level`, and further while they hold more bodies than a leaf may. So the tree depends on
// the bodies only, not on how space is divided into zones, whose borders lie between cells of zone_level: the part of the tree that
// belongs to one zone consists of whole trees, those of the largest cells that lie in the zone.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace app::barnes {

inline constexpr unsigned levels = 21;  // below the root: three coordinates of so many bits make a key
inline constexpr unsigned zone_level = 6;
inline constexpr std::size_t leaf = 8;                             // bodies
inline constexpr double softening = 0.05 * 0.05;                   // added to the square of a distance
inline constexpr std::uint64_t zone_cells = 1u << 3 * zone_level;  // cells of zone_level

struct body {
  double position[3], velocity[3], mass;
  std::uint64_t key, id;
  std::uint64_t cost;  // what it was attracted by in the step before
};

inline bool in_order(const body& a, const body& b) noexcept {
  return a.key != b.key ? a.key < b.key : a.id < b.id;
}

struct extent {
  static constexpr double infinite = std::numeric_limits<double>::infinity();
  double low[3] = {infinite, infinite, infinite}, high[3] = {-infinite, -infinite, -infinite};

  void include(const double* position) noexcept {
    for (int d = 0; d < 3; ++d) low[d] = std::min(low[d], position[d]), high[d] = std::max(high[d], position[d]);
  }
  extent joined(extent with) const noexcept {
    for (int d = 0; d < 3; ++d) with.low[d] = std::min(with.low[d], low[d]), with.high[d] = std::max(with.high[d], high[d]);
    return with;
  }
};

// Part of space, by its level and its number on the Morton curve. Trivial, so that arrays of what contains one need nobody to construct them.
struct cell {
  unsigned level;
  std::uint64_t number;

  cell part(std::uint64_t octant) const noexcept { return {level + 1, number << 3 | octant}; }
  // Of the keys of the bodies in it, and one past the last.
  std::uint64_t first_key() const noexcept { return number << 3 * (levels - level); }
  std::uint64_t end_key() const noexcept { return (number + 1) << 3 * (levels - level); }
};

// The root's space.
class cube {
 public:
  explicit cube(const extent& e) noexcept {
    for (int d = 0; d < 3; ++d) side_ = std::max(side_, (e.high[d] - e.low[d]) * (1 + 1e-9));
    for (int d = 0; d < 3; ++d) low_[d] = (e.low[d] + e.high[d] - side_) / 2;
  }

  std::uint64_t key_of(const double* position) const noexcept {
    constexpr double most = (1u << levels) - 1;
    std::uint64_t key = 0;
    for (int d = 0; d < 3; ++d)
      key |= spread(static_cast<std::uint64_t>(std::clamp((position[d] - low_[d]) / side_ * (most + 1), 0.0, most))) << d;
    return key;
  }

  double side_of(const cell& c) const noexcept { return std::ldexp(side_, -static_cast<int>(c.level)); }
  double centre_of(const cell& c, int d) const noexcept {
    return low_[d] + (static_cast<double>(gathered(c.number >> d)) + 0.5) * side_of(c);
  }

 private:
  // Bit k to bit 3k, and back.
  static std::uint64_t spread(std::uint64_t x) noexcept {
    std::uint64_t sum = 0;
    for (unsigned k = 0; k < levels; ++k) sum |= (x >> k & 1) << 3 * k;
    return sum;
  }
  static std::uint64_t gathered(std::uint64_t x) noexcept {
    std::uint64_t sum = 0;
    for (unsigned k = 0; k < levels; ++k) sum |= (x >> 3 * k & 1) << k;
    return sum;
  }

  double low_[3], side_ = std::numeric_limits<double>::min();
};

// Which worker owns which part of the Morton curve.
class zones {
 public:
  explicit zones(std::size_t workers) : first_(workers, zone_cells) { first_[0] = 0; }

  // Worker w's zone begins with the cell of the key; those of the workers after it do not begin before.
  void begin(std::size_t w, std::uint64_t key) noexcept { first_[w] = key >> 3 * (levels - zone_level); }

  std::size_t owner(std::uint64_t key) const noexcept {
    const auto after = std::upper_bound(first_.begin(), first_.end(), key >> 3 * (levels - zone_level));
    return static_cast<std::size_t>(after - first_.begin()) - 1;
  }
  std::optional<std::size_t> only_owner(const cell& c) const noexcept {
    const auto first = owner(c.first_key()), last = owner(c.end_key() - 1);
    return first == last ? std::optional(first) : std::nullopt;
  }

 private:
  std::vector<std::uint64_t> first_;  // cells of zone_level
};

// A cell or a body, which has no children.
struct alignas(64) node {
  double position[3], mass;
  double opened_within;  // the square of the distance from which on the cell counts as one body; 0 for a body
  const node* children;
  std::uint32_t first, count;  // of the children, in the vector in which the tree is built
};

// Copies a tree from the vector in which it was built to its place.
inline void settle(const std::vector<node>& draft, node* place) {
  for (std::size_t i = 0; i < draft.size(); ++i) {
    place[i] = draft[i];
    if (draft[i].count > 0) place[i].children = place + draft[i].first;
  }
}

// The mass of a cell and where it has its centre, from its parts or bodies in their order.
struct centre {
  double position[3] = {}, mass = 0;

  void add(double more, const double* at) noexcept {
    mass += more;
    for (int d = 0; d < 3; ++d) position[d] += more * at[d];
  }

  // When all have been added. The square of the distance from which on the cell counts as one body: it is opened by those who are so near
  // that its width shows or who may be in it (Barnes: A fast tree code for many-body problems, 1994), nearer than width / opening +
  // distance of the masses' centre from the cell's.
  double finish(const cube& space, const cell& c, double opening) noexcept {
    double offset = 0;
    for (int d = 0; d < 3; ++d) {
      position[d] /= mass;
      const double from_centre = position[d] - space.centre_of(c, d);
      offset += from_centre * from_centre;
    }
    const double near = space.side_of(c) / opening + std::sqrt(offset);
    return near * near;
  }
};

class builder {
 public:
  // `opening`: how wide a cell may be that counts as one body, in parts of its distance. `least`: the level down to which cells are divided
  // in any case; with several zones that of their borders at least.
  builder(const cube& space, double opening, unsigned least = zone_level) noexcept
      : space_(space), opening_(opening), least_(least) {}

  // The trees of the zone's largest cells. Their roots come first, in the order of the curve.
  std::vector<node> trees_of(const std::vector<body>& sorted, const zones& borders, std::size_t zone) const {
    std::vector<cell> roots;
    collect({}, borders, zone, roots);
    std::vector<node> draft(roots.size());
    for (std::size_t k = 0; k < roots.size(); ++k) {
      const auto first = begin_of(roots[k], sorted.begin(), sorted.end()), last = end_of(roots[k], first, sorted.end());
      const node root = tree(draft, roots[k], first, last);
      draft[k] = root;
    }
    return draft;
  }

  // The cells above those. Their root is the last; the nodes below stay where they are.
  std::vector<node> top_of(const zones& borders, std::vector<node*> trees) const {
    std::vector<node> top;
    const node root = upper(top, {}, borders, trees);
    top.push_back(root);
    for (auto& n : top)
      if (n.count > 0 && !n.children) n.children = top.data() + n.first;
    return top;
  }

 private:
  using iterator = std::vector<body>::const_iterator;

  static iterator begin_of(const cell& c, iterator first, iterator last) {
    return std::partition_point(first, last, [&](const body& b) { return b.key < c.first_key(); });
  }
  static iterator end_of(const cell& c, iterator first, iterator last) {
    return std::partition_point(first, last, [&](const body& b) { return b.key < c.end_key(); });
  }

  static void collect(const cell& c, const zones& borders, std::size_t zone, std::vector<cell>& roots) {
    if (const auto owner = borders.only_owner(c)) {
      if (*owner == zone) roots.push_back(c);
      return;
    }
    for (std::uint64_t octant = 0; octant < 8; ++octant) collect(c.part(octant), borders, zone, roots);
  }

  node tree(std::vector<node>& draft, const cell& c, iterator first, iterator last) const {
    const auto bodies = static_cast<std::size_t>(last - first);
    node children[8];
    std::uint32_t count = 0;
    if (bodies == 0) return {};
    if (c.level == levels || (c.level >= least_ && bodies <= leaf)) {
      const auto at = static_cast<std::uint32_t>(draft.size());
      for (; first != last; ++first) draft.push_back(single(*first));
      return whole(c, draft, at);
    }
    for (std::uint64_t octant = 0; octant < 8; ++octant) {
      const auto end = end_of(c.part(octant), first, last);
      if (end != first) children[count++] = tree(draft, c.part(octant), first, end);
      first = end;
    }
    const auto at = static_cast<std::uint32_t>(draft.size());
    draft.insert(draft.end(), children, children + count);
    return whole(c, draft, at);
  }

  node upper(std::vector<node>& top, const cell& c, const zones& borders, std::vector<node*>& trees) const {
    if (const auto owner = borders.only_owner(c)) return *trees[*owner]++;
    node children[8];
    std::uint32_t count = 0;
    for (std::uint64_t octant = 0; octant < 8; ++octant) {
      const node child = upper(top, c.part(octant), borders, trees);
      if (child.mass > 0) children[count++] = child;
    }
    if (count == 0) return {};
    const auto at = static_cast<std::uint32_t>(top.size());
    top.insert(top.end(), children, children + count);
    return whole(c, top, at);
  }

  static node single(const body& b) noexcept {
    node n{};
    std::copy_n(b.position, 3, n.position);
    n.mass = b.mass;
    return n;
  }

  // The cell whose children are the nodes from `at` on.
  node whole(const cell& c, const std::vector<node>& nodes, std::uint32_t at) const {
    node n{};
    n.first = at;
    n.count = static_cast<std::uint32_t>(nodes.size()) - at;
    centre sum;
    for (std::size_t k = at; k < nodes.size(); ++k) sum.add(nodes[k].mass, nodes[k].position);
    n.opened_within = sum.finish(space_, c, opening_);
    n.mass = sum.mass;
    std::copy_n(sum.position, 3, n.position);
    return n;
  }

  cube space_;
  double opening_;
  unsigned least_;
};

struct pull {
  double acceleration[3] = {};
  std::uint64_t interactions = 0;

  void of(double mass, const double* distance, double square) noexcept {
    const double inverse = 1 / std::sqrt(square + softening), strength = mass * inverse * inverse * inverse;
    for (int d = 0; d < 3; ++d) acceleration[d] += strength * distance[d];
    ++interactions;
  }
};

// Adds what a mass does to a body at the position, unless that is so near that the cell has to be opened.
inline bool pulls_as_one(const double* position, double mass, double opened_within, const double* at, pull& sum) {
  const double distance[3] = {position[0] - at[0], position[1] - at[1], position[2] - at[2]};
  const double square = distance[0] * distance[0] + distance[1] * distance[1] + distance[2] * distance[2];
  if (square < opened_within) return false;
  sum.of(mass, distance, square);
  return true;
}

// Adds what the tree does to a body at the position, in the tree's order. A body of the tree that is there does nothing.
inline void attract(const node& n, const double* at, pull& sum) {
  if (pulls_as_one(n.position, n.mass, n.opened_within, at, sum)) return;
  for (std::uint32_t k = 0; k < n.count; ++k) attract(n.children[k], at, sum);
}

}  // namespace app::barnes
