// Scenes about homes that move.
#include "dst/coherence/scene.h"

namespace dst {

using weft::lane;
using weft::base::millisecond;
using weft::dsm::copy_update;
using weft::dsm::home_reply;

namespace {

constexpr std::size_t of_0 = 0, of_1 = 1, of_2 = 2, of_3 = 3, of_4 = 4;  // cells
constexpr std::size_t other_of_0 = part::other_page, other_of_1 = part::other_page + 1, other_of_second = part::other_page + 2;

// Of five nodes, one reads what another has written, until copies are updated. Node 4 writes in turn with it, so that the home stays. How many
// rounds it took.
std::uint32_t come_to_update(const part& p, node_id writer, node_id reader) {
  std::uint32_t i = 0;
  p.until_sent(copy_update, 1, 5, [&] {
    ++i;
    if (p.is(i % 2 == 0 ? writer : 4)) p.write(p.self(), i);
    p.barrier();
    if (p.is(reader)) p.read(writer);
    p.barrier();
  });
  return i;
}

// Node 3's first change goes through node 0, which is home, and its update to node 2 is held up. The home moves to node 1, where copies come to be
// updated as well. Node 3's second change must be what node 2 has in the end.
void move_behind_updates(const part& p) {
  std::uint32_t i = come_to_update(p, 1, 2);
  const auto change = [&](std::uint32_t value) {
    if (p.is(3)) p.write(of_3, value);
    if (p.is(0) || p.is(3)) p.barrier_with(3 - p.self());
  };
  if (p.is(2)) p.hold(0, 2, lane::reply, copy_update);
  p.meet(0, 5);
  change(1);
  p.meet(1, 5);
  if (p.is(2))
    p.start([p] {
      p.nap(100 * millisecond);
      p.let_go(0, 2, lane::reply);
    });
  if (p.is(1) || p.is(4)) {
    const auto use = [&](bool read) {
      if (p.is(1)) p.write(of_1, ++i);
      p.barrier_with(5 - p.self());
      if (p.is(4) && read) p.read(of_1);
    };
    p.until_sent(home_reply, 1, 2, [&] { use(false); });
    const auto told = p.sent(copy_update);
    p.meet(2, 2);
    p.until_sent(copy_update, told + 1, 2, [&] { use(true); });
  }
  p.meet(3, 5);
  change(2);
  p.meet(4, 5);
  if (p.is(3)) p.barrier_with(2);
  if (p.is(2)) p.barrier_with(3), p.expect(of_3, 2);
  p.meet(5, 5);
}

// Copies of a page are updated, and its home moves to node 1. Node 2 has had a copy since before.
void move_with_a_copy(const part& p) {
  std::uint32_t i = come_to_update(p, 1, 2);
  p.until_sent(home_reply, 1, 5, [&] {
    if (p.is(1)) p.write(of_1, ++i);
    p.barrier();
    if (p.is(2)) p.read(of_1);
    p.barrier();
  });
}

// What the new home writes itself, the copy must have.
void write_at_a_new_home(const part& p) {
  constexpr std::uint32_t unlike_others = 1u << 31;
  move_with_a_copy(p);
  if (p.is(1)) p.write(of_1, unlike_others), p.barrier_with(2);
  if (p.is(2)) p.barrier_with(1), p.expect(of_1, unlike_others);
  p.meet(0, 5);
}

// At the new home the first change is told by updates too, because two have fetched the page: the copy needs it as well.
void move_with_holders(const part& p) {
  move_with_a_copy(p);
  if (p.is(0) || p.is(3)) p.expect(of_3, 0);
  p.meet(0, 5);
  if (p.is(3)) p.write(of_3, 1), p.barrier_with(2);
  if (p.is(2)) p.barrier_with(3), p.expect(of_3, 1);
  p.meet(1, 5);
}

// Node 1 becomes home to a page that node 3 has changed, and the page is still on its way there. Node 2, who knows of the change, asks for it.
void ask_who_has_not_got_it(const part& p) {
  if (p.is(1)) p.expect(of_3, 0);
  p.meet(0, 4);
  if (p.is(3)) p.write(of_3, 1), p.barrier_with(2);
  if (p.is(2)) p.barrier_with(3), p.hold(0, 1, lane::reply, home_reply);
  p.meet(1, 4);
  if (p.is(0) || p.is(1))
    for (std::uint32_t i = 1; i <= 2; ++i) {
      if (p.is(1)) p.write(of_1, i);
      p.barrier_with(1 - p.self());
    }
  if (p.is(2)) {
    p.wait_until_held(0, 1, lane::reply);
    p.start([p] {
      p.nap(1 * millisecond);
      p.let_go(0, 1, lane::reply);
    });
    p.expect(of_3, 1);
  }
  p.meet(2, 4);
}

// Node 1 would be home to a page that its home, node 0, has open. Another thread of node 0 writes to it after a release has looked at what was
// written, and before that closes the page for node 1. Node 2 has a copy, and hears of nobody but node 0.
void write_before_it_is_closed(const part& p) {
  if (p.is(2)) p.expect(of_0, 0);
  p.meet(0, 5);
  if (p.is(0)) p.expect(of_0, 0), p.write(other_of_0, 1);
  p.until_sent(home_reply, 1, 5, [&] {
    if (p.is(1)) p.write(of_1, 1 + p.read(of_1)), p.barrier_with(3);
    if (p.is(3)) p.barrier_with(1);
  });
  if (p.is(0)) {
    p.hold(3, 0, lane::reply, weft::dsm::home_changes_reply);
    p.start([p] {
      p.lock(0);
      p.wait_until_held(3, 0, lane::reply);
      p.write(of_0, 1);
      p.let_go(3, 0, lane::reply);
      p.nap(1 * millisecond);
      p.unlock(0);
      p.meet(1, 2);
    });
    p.barrier_with(4);
  }
  if (p.is(4)) p.barrier_with(0);
  if (p.is(2)) p.meet(1, 2), p.with(0, [&] { p.expect(of_0, 1); });
  p.meet(2, 5);
}

// Node 1 becomes home to two pages, one after the other. Another thread of it writes to the second while the first is on its way.
void write_before_it_has_come(const part& p) {
  p.hold(0, 1, lane::reply, home_reply);
  if (p.is(1))
    p.start([p] {
      p.wait_until_held(0, 1, lane::reply);
      p.write(other_of_second, 1);
      p.let_go(0, 1, lane::reply);
      p.meet(0, 2);
      p.expect(other_of_second, 1);
    });
  for (std::uint32_t i = 1; i <= 2; ++i) {
    if (p.is(1)) p.write(of_1, i), p.write(other_of_1, i);
    p.barrier();
  }
  if (p.is(1)) p.meet(0, 2);
}

// Node 2 has asked for a page, and the answer is held up. The page moves to node 1, where copies come to be updated; the update that tells node
// 2 of node 3's change overtakes the answer.
void overtake_a_page(const part& p) {
  if (p.is(0)) p.hold(0, 2, lane::reply, weft::dsm::page_reply);
  if (p.self() >= 4) p.read(of_1);  // so many have copies that updates do not pay at first
  p.meet(0, 8);
  if (p.is(2)) {
    p.start([p] {
      p.meet(2, 2);
      p.with(3, [] {});
      p.let_go(0, 2, lane::reply);
      p.meet(3, 2);
    });
    p.expect(of_2, 0);
    p.meet(3, 2);
    p.expect(of_3, 1);
  } else {
    p.wait_until_held(0, 2, lane::reply);
    if (!p.is(3)) {
      std::uint32_t i = 0;
      const auto meet_node_1 = [&] {
        for (const node_id n : {0, 4, 5, 6, 7})
          if (p.is(n) || p.is(1)) p.barrier_with(p.is(1) ? n : 1);
      };
      p.until_sent(copy_update, 1, 6, [&] {
        ++i;
        if (p.is(1)) p.write(of_1, i);
        meet_node_1();
        if (!p.is(1) && p.sent(home_reply) != 0) p.expect(of_1, i);
        meet_node_1();
      });
    }
    p.meet(1, 7);
    if (p.is(3)) p.with(3, [&] { p.write(of_3, 1); }), p.meet(2, 2);
  }
  p.meet(4, 8);
}

// Node 1 becomes home to a page in the release that closes its copy, to find out whether that is used. It never is, and the page goes on to node 3,
// where copies are updated. Node 1 has none.
void doubt_what_comes_home(const part& p) {
  std::uint32_t i = come_to_update(p, 2, 1);
  if (p.is(2) || p.is(4))  // node 2 becomes home; node 1 is sent updates, and does not release
    p.until_sent(home_reply, 1, 2, [&] {
      if (p.is(2)) p.write(of_2, ++i);
      p.barrier_with(6 - p.self());
    });
  p.meet(0, 5);
  if (p.is(3)) p.with(3, [&] { p.write(of_3, 1); });
  p.meet(1, 5);
  if (p.is(1)) {
    p.write(of_1, 1);
    p.lock(3);  // what node 1 has written goes home, and the copy
    p.write(of_1, 2);
    p.unlock(3);
    p.barrier_with(2);
  }
  if (p.is(2)) p.barrier_with(1);
  p.meet(2, 5);
  if (p.is(0) || p.is(3)) {
    const auto told = p.sent(copy_update);
    const auto moved = p.sent(home_reply);
    p.meet(3, 2);
    p.until_sent(copy_update, told + 1, 2, [&] {
      if (p.is(3)) p.write(of_3, ++i);
      p.barrier_with(3 - p.self());
      if (p.is(0) && p.sent(home_reply) != moved) p.read(of_3);
      p.barrier_with(3 - p.self());
    });
  }
  p.meet(4, 5);
  if (p.is(4)) p.write(of_4, 1000), p.barrier_with(1);
  if (p.is(1)) p.barrier_with(4), p.expect(of_4, 1000);
  p.meet(5, 5);
}

constexpr scene moving[] = {
    {"a home moves while its updates are under way", " auto ", 5, 0, 0, move_behind_updates},
    {"a home moves, and others have copies", " auto ", 5, 0, 0, move_with_holders},
    {"a new home writes what others have copies of", " auto ", 5, 0, 0, write_at_a_new_home},
    {"a page is asked for where it has not come yet", " hlrc-moving ", 4, 0, 0, ask_who_has_not_got_it},
    {"a page is written before it is closed for its next home", " hlrc-moving ", 5, 0, 3, write_before_it_is_closed},
    {"a page is written before its home comes", " hlrc-moving auto ", 3, 0, 2, write_before_it_has_come},
    {"an update overtakes a page", " auto ", 8, 0, 0, overtake_a_page},
    {"a copy in doubt becomes home", " auto ", 5, 0, 0, doubt_what_comes_home},
};

}  // namespace

std::span<const scene> scenes_of_moving() {
  return moving;
}

}  // namespace dst
