// The V-cycle of multigrid, for mgrid and ocean: relax, bring the residual to the next coarser grid, do the same there; then add
// its correction and relax again.
//
// A grid is distributed by rows (or planes) and knows how to do things with one of them, from its own values and from those of the
// rows next to it:
//   rows_of(me): a worker's; points(): of all of it;
//   relax(i, half): a half of a relaxation, mostly the points of one colour, which depend on those of the other only; find_residual(i);
//   take_residual(i, finer): as what is to be solved for, and start from 0; add_correction(i, coarser).
//
// Small grids are one worker's business: it is through with one of them before the workers would have met once. A grid's rows
// should therefore be dealt to `workers_for(points, workers)`.
#pragma once

#include <cstddef>
#include <deque>
#include <type_traits>

#include "alone.h"
#include "bands.h"

namespace app {

inline constexpr std::size_t small_grid = 1024;  // points

inline std::size_t workers_for(std::size_t points, std::size_t workers) {
  return points < small_grid ? 1 : workers;
}

template <typename Grid, typename Worker, typename Visit>
void for_rows_of(const Grid& g, const Worker& me, Visit&& visit) {
  const auto [first, last] = g.rows_of(me);
  for (std::size_t i = first; i < last; ++i) visit(i);
}

// What workers have just written of a grid, and others go on to read.
enum class written {
  solution,          // read in rows next to the own ones
  final_solution,    // the same, and by a finer or coarser grid's rows
  residual,          // by a coarser grid's rows
  residual_for_one,  // by worker 0, for a grid that is its business
  solution_of_one,   // by everybody, when it is done
};

// All have written it. Where nothing is shared, a grid's own overload sends what has to be sent.
template <typename Grid, sharing Worker>
void meet(const Grid&, written, Worker& me) {
  me.barrier();
}

template <typename Grid>
class v_cycle {
 public:
  // The grids, the finest first, which all workers share; and how often to relax on the way down, and again on the way up.
  v_cycle(const std::deque<Grid>& grids, std::size_t relaxations, std::size_t relaxations_of_coarsest)
      : grids_(grids), relaxations_(relaxations), relaxations_of_coarsest_(relaxations_of_coarsest) {}

  // By every worker, with the others.
  template <typename Worker>
  void run(Worker& me) const {
    from(0, me);
  }

 private:
  template <typename Worker>
  void from(std::size_t l, Worker& me) const {
    const Grid& g = grids_[l];
    if (l + 1 == grids_.size()) return relax(g, relaxations_of_coarsest_, me);
    relax(g, relaxations_, me);
    for_rows_of(g, me, [&](std::size_t i) { g.find_residual(i); });
    if (std::is_same_v<Worker, alone::worker> || grids_[l + 1].points() >= small_grid) {
      meet(g, written::residual, me);
      correct(l + 1, me);
    } else {
      meet(g, written::residual_for_one, me);
      alone::worker only;
      if (me.rank() == 0) correct(l + 1, only);
      meet(grids_[l + 1], written::solution_of_one, me);
    }
    for_rows_of(g, me, [&](std::size_t i) { g.add_correction(i, grids_[l + 1]); });
    meet(g, written::solution, me);
    relax(g, relaxations_, me);
  }

  template <typename Worker>
  void correct(std::size_t l, Worker& me) const {
    for_rows_of(grids_[l], me, [&](std::size_t i) { grids_[l].take_residual(i, grids_[l - 1]); });
    meet(grids_[l], written::solution, me);
    from(l, me);
  }

  template <typename Worker>
  static void relax(const Grid& g, std::size_t times, Worker& me) {
    for (std::size_t half = 0; half < 2 * times; ++half) {
      for_rows_of(g, me, [&](std::size_t i) { g.relax(i, half % 2); });
      meet(g, half + 1 < 2 * times ? written::solution : written::final_solution, me);
    }
  }

  const std::deque<Grid>& grids_;
  std::size_t relaxations_, relaxations_of_coarsest_;
};

}  // namespace app
