#include "dst/coherence/directed.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "dst/coherence/apart.h"
#include "dst/coherence/choosers.h"
#include "dst/coherence/cluster.h"

namespace dst {

using weft::lane;
using weft::base::format;
using weft::base::microsecond;
using weft::base::millisecond;

namespace {

constexpr unsigned longest_scene = 60;   // seconds
constexpr std::size_t cell_bytes = 512;  // what lies in one is written by nobody else

// One node's part: cells of a page.
class part {
 public:
  part(cluster& c, cluster::node& n, std::byte* page, std::vector<cluster::meeting>& meetings)
      : cluster_(c), node_(n), page_(page), meetings_(meetings) {}

  node_id self() const { return node_.id(); }
  cluster& all() const { return cluster_; }
  void barrier() const { node_.space().barrier(), cluster_.time().progress(); }
  void nap(nanoseconds length) const { cluster_.time().nap(length); }

  void write(std::size_t cell, std::uint32_t value) const {
    node_.access(page_ + cell * cell_bytes, sizeof value, true,
                 [&](std::byte* here, std::size_t, std::size_t size) { std::memcpy(here, &value, size); });
  }
  std::uint32_t read(std::size_t cell) const {
    std::uint32_t value = 0;
    node_.access(page_ + cell * cell_bytes, sizeof value, false,
                 [&](std::byte* here, std::size_t, std::size_t size) { std::memcpy(&value, here, size); });
    return value;
  }
  void expect(std::size_t cell, std::uint32_t value) const {
    if (const auto found = read(cell); found != value)
      cluster_.time().fail(format("node %u finds %u in cell %zu, not %u", self(), found, cell, value));
  }

  void lock(std::size_t mutex) const { node_.space().lock(cluster_.object(mutex), weft::space::for_ever); }
  void unlock(std::size_t mutex) const { node_.space().unlock(cluster_.object(mutex)), cluster_.time().progress(); }
  template <typename Do>
  void with(std::size_t mutex, Do&& what) const {
    lock(mutex);
    what();
    unlock(mutex);
  }

  // A barrier of two nodes.
  void barrier_with(node_id other) const {
    const std::size_t pair = std::min(self(), other) * std::size_t{cluster_.nodes()} + std::max(self(), other);
    node_.space().barrier(cluster_.object(mutexes + pair), 2);
    cluster_.time().progress();
  }

  // So many nodes wait for one another. Not by the shared memory: nobody acquires anything.
  void meet(std::size_t where, std::size_t nodes) const { cluster_.meet(meetings_[where], nodes, "waits for the others"); }

  // Another thread of this node.
  void start(std::function<void()> body) const { cluster_.start(node_, format("n%u.1", self()), std::move(body)); }

 private:
  static constexpr std::size_t mutexes = 4;

  cluster& cluster_;
  cluster::node& node_;
  std::byte* page_;
  std::vector<cluster::meeting>& meetings_;
};

struct scene {
  const char* name;
  std::string_view protocols;  // with blanks around each
  node_id nodes, home;
  void (*play)(const part&);
};

// A home writes, and writes back what was there before it releases. Whoever fetches the page in between must not keep what was never released.
void fetch_what_is_not_released(const part& p) {
  for (std::uint32_t i = 1; i <= 2; ++i) {
    if (p.self() == 0) p.write(0, i);
    p.barrier();
    if (p.self() == 1) p.expect(0, i);
    p.barrier();
  }
  if (p.self() == 0) p.lock(0), p.write(0, 3);
  p.meet(0, 3);
  if (p.self() == 2) p.expect(1, 0);
  p.meet(1, 3);
  if (p.self() == 0) p.write(0, 2), p.unlock(0);
  p.meet(2, 3);
  if (p.self() == 2) p.with(0, [&] { p.expect(0, 2); });
}

// Node 3's first change goes through node 0, which is home, and its update to node 2 is held up. The home moves to node 1, which node 2 still
// knows from before, and there copies come to be updated as well. Node 2 fetches the page; node 3's second change must be what it has in the end.
void move_behind_updates(const part& p) {
  constexpr std::size_t of_0 = 0, of_1 = 1, of_2 = 2, of_3 = 3;  // cells
  if (p.self() == 2) p.expect(of_2, 0);
  p.barrier();
  for (std::uint32_t i = 1; i <= 20; ++i) {  // the home moves from node 1 to node 0
    if (p.self() == 0) p.write(of_0, i);
    p.barrier();
  }
  for (std::uint32_t i = 21; i <= 34; ++i) {  // node 0 comes to update copies
    if (p.self() == 0) p.write(of_0, i);
    p.barrier();
    if (p.self() == 1) p.expect(of_0, i);
    p.barrier();
  }
  if (p.self() == 3) p.expect(of_3, 0);
  p.barrier();
  if (p.self() == 2) p.all().hold(0, 2, lane::reply, true);
  p.meet(0, 4);
  if (p.self() == 3) p.write(of_3, 1), p.barrier_with(0);
  if (p.self() == 0) p.barrier_with(3);
  p.meet(1, 4);
  switch (p.self()) {
    case 0:  // has the page open, and closes it when node 1 wants it
      for (std::uint32_t i = 1; i <= 100; ++i) {
        p.barrier_with(1);
        if (i > 48) p.expect(of_1, i);
        p.barrier_with(1);
      }
      break;
    case 1:  // becomes home to it again, and comes to update copies
      for (std::uint32_t i = 1; i <= 100; ++i) {
        p.write(of_1, i);
        p.barrier_with(0);
        p.barrier_with(0);
      }
      break;
    case 2:
      p.start([p] {
        p.nap(100 * millisecond);
        p.all().hold(0, 2, lane::reply, false);
      });
      p.nap(50 * millisecond);
      p.expect(of_2, 0);
      p.meet(2, 2);
      p.barrier_with(3);
      p.expect(of_3, 2);
      break;
    default:
      p.meet(2, 2);
      p.write(of_3, 2);
      p.barrier_with(2);
  }
  p.meet(3, 4);
}

constexpr scene scenes[] = {
    {"a page is fetched that holds what is not released", " hlrc-update ", 3, 0, fetch_what_is_not_released},
    {"a home moves while its updates are under way", " auto ", 4, 1, move_behind_updates},
};

std::optional<std::string> play(const scene& s, const std::string& protocol) {
  cluster_options o;
  o.protocol = protocol;
  o.nodes = s.nodes;
  o.room = 4096;
  departing_chooser plain({});
  cluster c(o, plain);
  std::vector<cluster::meeting> meetings(8);
  c.run([&](cluster::node& n) {
    auto* page = static_cast<std::byte*>(
        n.space().allocate_together(weft::dsm::page_bytes, weft::dsm::page_bytes, weft::placement::on(s.home)));
    n.space().barrier();
    s.play(part(c, n, page, meetings));
  });
  return c.time().failure();
}

}  // namespace

std::optional<std::string> run_directed(const std::string& protocol) {
  std::size_t played = 0;
  for (const scene& s : scenes) {
    if (s.protocols.find(" " + protocol + " ") == std::string_view::npos) continue;
    const auto failed = apart::run(longest_scene, [&](report& r) {
      if (const auto wrong = play(s, protocol)) r.failed(*wrong);
    });
    if (failed) return format("%s: %s: %s", protocol.c_str(), s.name, failed->how.c_str());
    ++played;
  }
  std::printf("%s: %zu scenes, and all is right\n", protocol.c_str(), played);
  return std::nullopt;
}

}  // namespace dst
