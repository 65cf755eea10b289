// A scene: what each node does so that messages come in an order that they hardly ever come in by chance. The nodes share two pages of cells.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "dsm/own_handlers.h"
#include "dst/coherence/cluster.h"

namespace dst {

// One node's part.
class part {
 public:
  static constexpr std::size_t cell_bytes = 512;  // what lies in one is written by nobody else
  static constexpr std::size_t cells = weft::dsm::page_bytes / cell_bytes;
  static constexpr std::size_t other_page = cells;  // the first cell of the second page
  struct shared {
    cluster& all;
    std::vector<cluster::meeting> meetings = std::vector<cluster::meeting>(8);
  };

  part(shared& s, cluster::node& n, std::byte* page, std::byte* second) : shared_(s), node_(n), pages_{page, second} {}

  node_id self() const { return node_.id(); }
  bool is(node_id n) const { return self() == n; }

  void write(std::size_t cell, std::uint32_t value) const;
  std::uint32_t read(std::size_t cell) const;
  void expect(std::size_t cell, std::uint32_t value) const;

  void barrier() const;
  void barrier_with(node_id other) const;  // of two nodes
  void lock(std::size_t mutex) const;
  void unlock(std::size_t mutex) const;
  template <typename Do>
  void with(std::size_t mutex, Do&& what) const {
    lock(mutex);
    what();
    unlock(mutex);
  }

  // So many nodes wait for one another. Not by the shared memory: nobody acquires anything.
  void meet(std::size_t where, std::size_t nodes) const { all().meet(shared_.meetings[where], nodes, "waits for the others"); }
  void nap(weft::base::nanoseconds length) const { all().time().nap(length); }

  // Another thread of this node.
  void start(std::function<void()> body) const;

  // Messages that go from one node to another on a lane, from the next on or the next of a kind.
  void hold(node_id from, node_id to, weft::lane l, std::optional<weft::handler_id> kind = {}) const;
  void wait_until_held(node_id from, node_id to, weft::lane l) const;
  void let_go(node_id from, node_id to, weft::lane l) const { all().network().carrier().let_go(from, to, l); }
  std::uint64_t sent(weft::handler_id kind) const { return all().network().sent(kind); }  // so far

  // Goes on with rounds until so many messages of a kind have been sent. So many nodes do, and stop after the same round.
  template <typename Round>
  void until_sent(weft::handler_id kind, std::uint64_t count, std::size_t nodes, Round&& round) const {
    for (bool enough = false; !enough; meet(rounds, nodes)) {
      round();
      meet(rounds, nodes);
      enough = sent(kind) >= count;
    }
  }

 private:
  static constexpr std::size_t rounds = 7;  // a meeting

  cluster& all() const { return shared_.all; }
  std::byte* at(std::size_t cell) const { return pages_[cell / cells] + cell % cells * cell_bytes; }

  shared& shared_;
  cluster::node& node_;
  std::byte* pages_[2];
};

struct scene {
  const char* name;
  std::string_view protocols;        // with blanks around each
  node_id nodes, home, second_home;  // of the pages
  void (*play)(const part&);
};

std::span<const scene> scenes_of_copies();
std::span<const scene> scenes_of_moving();

}  // namespace dst
