// barnes as in SPLASH-2 (Woo et al., 1995; as we remember it), which SHRIMP 3 names: bodies stay where they are in shared memory, and each
// worker has a list of its own. In each step
//   - all agree on the cube that holds the bodies;
//   - everybody puts its bodies into one shared tree, one by one, with a lock for the cell that changes;
//   - everybody finds the masses' centres of the cells that it made, from the smallest cells upwards;
//   - everybody finds its new list by walking the tree to its share of the cost (costzones);
//   - everybody writes into its bodies what attracts them, and when all have, moves them.
// The cells depend on the bodies only and sums are in the order of the Morton curve, so the result does not depend on the workers. It is that
// of barnes_gravity.h with a root that is always divided, and other cells that need not be.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include <weft/weft.h>

#include "barnes_gravity.h"
#include "shared.h"

namespace app::barnes {

struct placed_body : body {
  double acceleration[3];
};

// A cell in the tree: one with parts, or a leaf with bodies.
struct limb {
  double position[3], mass;
  double opened_within;
  std::uint64_t cost;
  cell where;
  bool is_leaf;
};
struct alignas(64) branch : limb {
  limb* part[8];
};
struct alignas(64) bud : limb {
  std::size_t bodies;
  placed_body* held[leaf];
};

// What the workers share.
class grove {
 public:
  // Together.
  grove(const problem& p, std::size_t workers)
      : room(4 * p.bodies / workers + 1024),
        bodies(p.bodies, weft::placement::block()),
        branches(workers * room, weft::placement::block()),
        buds(workers * room, weft::placement::block()),
        locks_(std::size_t{most_locks}) {}

  branch& root() const noexcept { return branches.data()[0]; }
  std::size_t number_of(const branch& b) const noexcept { return static_cast<std::size_t>(&b - branches.data()); }
  weft::mutex& lock_of(const branch& b) const noexcept { return (*locks_)[number_of(b) % most_locks].lock; }

  const std::size_t room;  // of each worker, for limbs of either kind
  shared_array<placed_body> bodies;
  shared_array<branch> branches;  // one worker's after the other's; the root is the first
  shared_array<bud> buds;

 private:
  static constexpr std::size_t most_locks = 2048;  // as SPLASH-2 has them, for any number of cells
  struct alignas(64) padded {
    weft::mutex lock;
  };
  shared_object<std::vector<padded, weft::allocator<padded>>> locks_;
};

// One worker's part.
class gravity_in_place {
 public:
  gravity_in_place(const problem& p, std::uint64_t seed, const grove& all, weft::worker& me)
      : all_(all), me_(me), opening_(static_cast<double>(p.opening) / 100), known_(me.size() * all.room) {
    for (std::size_t id = me.share_of(p.bodies).first; id < me.share_of(p.bodies).second; ++id) {
      own_.push_back(all.bodies.data() + id);
      static_cast<body&>(*own_.back()) = plummer(seed, id, p.bodies);
    }
  }

  void step() {
    const cube space = enclosing();
    grow(space);
    find_centres(space);
    find_own();
    me_.barrier();  // costs have been read
    find_forces();
    me_.barrier();  // positions have been read
    move();
  }

  const std::vector<placed_body*>& bodies() const noexcept { return own_; }

 private:
  cube enclosing() {
    extent mine;
    for (const auto* b : own_) mine.include(b->position);
    return cube(me_.reduce(mine, [](const extent& a, const extent& b) { return a.joined(b); }));
  }

  // --- the tree ---

  void grow(const cube& space) {
    branches_ = buds_ = 0;
    std::fill(known_.begin(), known_.end(), 0);
    if (me_.rank() == 0) make_branch({});
    me_.barrier();
    for (auto* b : own_) {
      b->key = space.key_of(b->position);
      insert(*b);
    }
    me_.barrier();
  }

  // A part that has become a branch stays one. This worker sees what is in it when it has once found it there with the lock.
  void insert(placed_body& b) {
    branch* at = &all_.root();
    while (true) {
      const unsigned octant = octant_of(b, at->where);
      if ((known_[all_.number_of(*at)] >> octant & 1) != 0) {
        at = static_cast<branch*>(at->part[octant]);
        continue;
      }
      const std::scoped_lock changing(all_.lock_of(*at));
      limb*& part = at->part[octant];
      if (!part) {
        part = &make_bud(at->where.part(octant), b);
        return;
      }
      if (part->is_leaf) {
        auto& full = static_cast<bud&>(*part);
        if (full.bodies < leaf) {
          full.held[full.bodies++] = &b;
          return;
        }
        part = &divided(full);
      }
      known_[all_.number_of(*at)] |= static_cast<std::uint8_t>(1u << octant);
      at = static_cast<branch*>(part);
    }
  }

  static unsigned octant_of(const body& b, const cell& within) noexcept {
    return static_cast<unsigned>(b.key >> 3 * (levels - 1 - within.level) & 7);
  }

  branch& make_branch(const cell& where) {
    check_room(branches_);
    branch& made = all_.branches.data()[me_.rank() * all_.room + branches_++];
    made.where = where;
    made.is_leaf = false;
    for (auto& p : made.part) p = nullptr;
    return made;
  }
  bud& make_bud(const cell& where, placed_body& first) {
    check_room(buds_);
    bud& made = all_.buds.data()[me_.rank() * all_.room + buds_++];
    made.where = where;
    made.is_leaf = true;
    made.bodies = 1;
    made.held[0] = &first;
    return made;
  }
  void check_room(std::size_t used) const {
    if (used == all_.room) throw weft::error(weft::errc::too_large, "bodies have come so close that the tree has no room");
  }

  // A branch instead of a leaf. The leaf stays, for the bodies that are in the same part as its first.
  branch& divided(bud& full) {
    if (full.where.level + 1 == levels)
      throw weft::error(weft::errc::too_large, "bodies have come so close that they cannot be told apart");
    branch& made = make_branch(full.where);
    std::array<placed_body*, leaf> held;
    std::copy_n(full.held, leaf, held.begin());
    bud* parts[8] = {};
    for (auto* b : held) {
      const unsigned octant = octant_of(*b, made.where);
      if (bud* there = parts[octant]) {
        there->held[there->bodies++] = b;
      } else if (b == held[0]) {
        full.where = made.where.part(octant);
        full.bodies = 1;
        parts[octant] = &full;
      } else {
        parts[octant] = &make_bud(made.where.part(octant), *b);
      }
    }
    for (unsigned octant = 0; octant < 8; ++octant)
      if (parts[octant]) made.part[octant] = parts[octant];
    return made;
  }

  // --- the masses' centres ---

  void find_centres(const cube& space) {
    std::array<std::vector<limb*>, levels + 1> made;
    for (std::size_t i = 0; i < branches_; ++i) note(all_.branches.data()[me_.rank() * all_.room + i], made);
    for (std::size_t i = 0; i < buds_; ++i) note(all_.buds.data()[me_.rank() * all_.room + i], made);
    unsigned deepest = levels;
    while (deepest > 0 && made[deepest].empty()) --deepest;
    deepest = me_.reduce(deepest, [](unsigned a, unsigned b) { return std::max(a, b); });
    for (unsigned level = deepest + 1; level-- > 0;) {
      for (limb* each : made[level])
        each->is_leaf ? find_centre(space, static_cast<bud&>(*each)) : find_centre(space, static_cast<branch&>(*each));
      me_.barrier();
    }
  }
  static void note(limb& l, std::array<std::vector<limb*>, levels + 1>& made) { made[l.where.level].push_back(&l); }

  void find_centre(const cube& space, bud& of) {
    std::sort(of.held, of.held + of.bodies, [](const body* a, const body* b) { return in_order(*a, *b); });
    centre sum;
    std::uint64_t cost = 0;
    for (std::size_t k = 0; k < of.bodies; ++k) {
      sum.add(of.held[k]->mass, of.held[k]->position);
      cost += of.held[k]->cost;
    }
    write(space, sum, cost, of);
  }
  void find_centre(const cube& space, branch& of) {
    centre sum;
    std::uint64_t cost = 0;
    for (const limb* p : of.part) {
      if (!p) continue;
      sum.add(p->mass, p->position);
      cost += p->cost;
    }
    write(space, sum, cost, of);
  }
  void write(const cube& space, centre& sum, std::uint64_t cost, limb& into) const {
    into.opened_within = sum.finish(space, into.where, opening_);
    into.mass = sum.mass;
    for (int d = 0; d < 3; ++d) into.position[d] = sum.position[d];
    into.cost = cost;
  }

  // --- the own bodies ---

  void find_own() {
    own_.clear();
    const std::uint64_t all = all_.root().cost;
    find_own(all_.root(), 0, all * me_.rank() / me_.size(), all * (me_.rank() + 1) / me_.size());
  }

  // Those whose cost begins within these limits, where that of the limb begins at `before`.
  void find_own(const limb& in, std::uint64_t before, std::uint64_t first, std::uint64_t last) {
    if (before + in.cost <= first || before >= last) return;
    if (!in.is_leaf) {
      for (const limb* p : static_cast<const branch&>(in).part) {
        if (!p) continue;
        find_own(*p, before, first, last);
        before += p->cost;
      }
      return;
    }
    const auto& l = static_cast<const bud&>(in);
    for (std::size_t k = 0; k < l.bodies; ++k) {
      if (before >= first && before < last) own_.push_back(l.held[k]);
      before += l.held[k]->cost;
    }
  }

  // --- motion ---

  void find_forces() {
    for (auto* b : own_) {
      pull sum;
      attract(all_.root(), b->position, sum);
      b->cost = sum.interactions;
      for (int d = 0; d < 3; ++d) b->acceleration[d] = sum.acceleration[d];
    }
  }

  static void attract(const limb& n, const double* at, pull& sum) {
    if (pulls_as_one(n.position, n.mass, n.opened_within, at, sum)) return;
    if (!n.is_leaf) {
      for (const limb* p : static_cast<const branch&>(n).part)
        if (p) attract(*p, at, sum);
      return;
    }
    const auto& l = static_cast<const bud&>(n);
    for (std::size_t k = 0; k < l.bodies; ++k) pulls_as_one(l.held[k]->position, l.held[k]->mass, 0, at, sum);
  }

  // Leapfrog: as in barnes_gravity.h.
  void move() {
    const double kick = steps_++ == 0 ? time_step / 2 : time_step;
    for (auto* b : own_)
      for (int d = 0; d < 3; ++d) {
        b->velocity[d] += kick * b->acceleration[d];
        b->position[d] += time_step * b->velocity[d];
      }
  }

  const grove& all_;
  weft::worker& me_;
  double opening_;
  std::vector<placed_body*> own_;
  std::size_t branches_ = 0, buds_ = 0;  // made in this step
  std::vector<std::uint8_t> known_;      // of each branch: which parts are branches that this worker sees
  std::size_t steps_ = 0;
};

}  // namespace app::barnes
