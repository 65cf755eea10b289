// Scenes about copies of a page whose home stays where it is.
#include "dst/coherence/scene.h"
#include "fabric/own_handlers.h"

namespace dst {

using weft::lane;
using weft::base::millisecond;

namespace {

// A home writes, and writes back what was there before it releases. Whoever fetches the page in between must not keep what was never released.
void fetch_what_is_not_released(const part& p) {
  for (std::uint32_t i = 1; i <= 2; ++i) {
    if (p.is(0)) p.write(0, i);
    p.barrier();
    if (p.is(1)) p.expect(0, i);
    p.barrier();
  }
  if (p.is(0)) p.lock(0), p.write(0, 3);
  p.meet(0, 3);
  if (p.is(2)) p.expect(1, 0);
  p.meet(1, 3);
  if (p.is(0)) p.write(0, 2), p.unlock(0);
  p.meet(2, 3);
  if (p.is(2)) p.with(0, [&] { p.expect(0, 2); });
}

// Node 0 is in the barrier already when another thread of it writes. Node 1 hears of that by a lock, and is the only one that can tell node 2.
void write_behind_a_barrier(const part& p) {
  if (p.is(2)) p.expect(0, 0);
  p.barrier();
  if (p.is(0))
    p.start([p] {
      p.nap(1 * millisecond);
      p.with(1, [&] { p.write(0, 1); });
      p.meet(0, 2);
    });
  if (p.is(1)) p.meet(0, 2), p.with(1, [&] { p.expect(0, 1); });
  p.barrier();
  if (p.is(2)) p.expect(0, 1);
  p.barrier();
}

// Node 1 joins the sharers of a page, and does not come to tell its home. Node 2 joins as well, and must not rely on that.
void join_behind_one_who_has_not_told(const part& p) {
  if (p.is(0)) p.write(0, 1);
  p.barrier();
  if (p.is(0)) p.write(0, 2), p.hold(0, 1, lane::reply, weft::fabric::own::value);
  p.meet(0, 3);
  if (p.is(1)) p.read(1);
  if (p.is(2)) p.wait_until_held(0, 1, lane::reply), p.expect(1, 0);
  if (!p.is(1)) p.meet(1, 2);
  if (p.is(0)) p.write(0, 3), p.barrier_with(2);
  if (p.is(2)) p.barrier_with(0), p.expect(0, 3), p.let_go(0, 1, lane::reply);
  p.meet(2, 3);
}

// Copies of a page are updated until its only holder has left. The home changes it once more, and before that release is over, because of another
// page, node 2 fetches it: the home has to go on noting its changes.
void fetch_what_is_about_to_be_free(const part& p) {
  std::uint32_t i = 0;
  const auto change = [&](bool used) {
    if (p.is(0)) p.write(0, ++i);
    p.barrier();
    if (p.is(1) && used) p.read(0);
    p.barrier();
  };
  p.until_sent(weft::dsm::copy_update, 1, 4, [&] { change(true); });
  p.until_sent(weft::dsm::copy_leave, 1, 4, [&] { change(false); });
  if (p.is(0)) p.write(0, ++i), p.write(part::other_page, 1), p.hold(3, 0, lane::reply, weft::dsm::home_changes_reply);
  p.meet(0, 4);
  if (p.is(0)) p.barrier_with(1), p.write(0, 1000), p.barrier_with(2);
  if (p.is(1)) p.barrier_with(0);
  if (p.is(2)) {
    p.wait_until_held(3, 0, lane::reply);
    p.nap(1 * millisecond);
    p.expect(1, 0);
    p.let_go(3, 0, lane::reply);
    p.barrier_with(0);
    p.expect(0, 1000);
  }
  p.meet(1, 4);
}

constexpr scene of_copies[] = {
    {"a page is fetched that holds what is not released", " hlrc-update ", 3, 0, 0, fetch_what_is_not_released},
    {"a node writes when it is in a barrier",
     " hlrc auto hlrc-au aurc hlrc-moving hlrc-update cashmere:copied cashmere:in-place cashmere:immediate cashmere:unsafe=1 "
     "cashmere:immediate+unsafe=2 lrc ",
     3, 0, 0, write_behind_a_barrier},
    {"two join the sharers of a page", " cashmere:copied cashmere:immediate cashmere:unsafe=1 cashmere:immediate+unsafe=2 ", 3, 0,
     0, join_behind_one_who_has_not_told},
    {"a page is fetched whose copies are about to be given up", " auto ", 4, 0, 3, fetch_what_is_about_to_be_free},
};

}  // namespace

std::span<const scene> scenes_of_copies() {
  return of_copies;
}

}  // namespace dst
