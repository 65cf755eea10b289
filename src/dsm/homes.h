// Who is home to a page: the node that holds its master copy.
//
// Cashmere 2.2: homes are assigned round robin at first; once the program has initialised its data, a page goes to the first node
// that uses it. The words of a group of neighbouring pages lie together at one node, their manager, group by group round the nodes. A
// page's word says
//   initial   the manager is home, for the time being
//   claimed   a node is moving the page to itself
//   settled   that node is home for good, or knows where the page has gone (a protocol that moves homes)
// and is changed by one-sided operations alone. A home that was chosen by a placement is settled from the start.
#pragma once

#include <array>
#include <cstring>
#include <functional>
#include <vector>

#include <weft/port.h>
#include <weft/detail/space.h>

#include "dsm/lazy_memory.h"
#include "dsm/page_table.h"
#include "dsm/pages.h"

namespace weft::dsm {

// Collective: gives everybody's bytes, by node. For setting up.
using exchange = std::function<std::vector<std::vector<std::byte>>(bytes)>;

template <typename T>
std::vector<T> exchange_values(const exchange& with_all, const T& mine) {
  std::vector<T> all;
  for (const auto& b : with_all(std::as_bytes(std::span<const T, 1>(&mine, 1)))) {
    T value;
    std::memcpy(&value, b.data(), sizeof value);
    all.push_back(value);
  }
  return all;
}

class homes {
 public:
  static constexpr page_id group = 16;

  // Collective. `one_memory`: the frames of all nodes are one piece of memory, so that a page goes nowhere when its home moves.
  static result<std::unique_ptr<homes>> create(port& p, pages& memory, const exchange& with_all, bool one_memory = false);

  // The home of a page whose entry the caller holds; claims the page if it is to go to whoever comes first.
  result<node_id> find(page_table::entry& e, page_id p);

  // Looking ahead: whether a page whose entry the caller holds has a settled home. Reads the words of a whole group at a time.
  class neighbours {
   public:
    explicit neighbours(homes& all) noexcept : homes_(all) {}
    bool settled(page_table::entry& e, page_id p);

   private:
    homes& homes_;
    page_id known_ = ~page_id{0};  // the group whose words are here
    std::array<word, group> words_;
  };

  // Settles the homes of pages that nobody has used yet.
  status place(extent e, placement where);

  // This node is home to a settled page from now on. Who asks the old home is told there.
  status moved_here(page_table::entry& e, page_id p);

  // --- the end of the initialisation, in two steps with a barrier between them -----------------------------------------------------

  // Faults of this node wait from now on. Returns when none that began before is under way, so that the caller can close every page whose
  // home may move, and none is opened again.
  status about_to_move();

  // All nodes have closed them: from now on an initial page goes to the first node that asks.
  void by_first_touch() noexcept { now_.store(phase::by_first_touch); }

  // A fault, from before it looks for its page's home until the page is open. With no entry held: it may wait.
  class fault_under_way {
   public:
    explicit fault_under_way(homes& of) : homes_(of) {
      if (of.now_.load() != phase::by_first_touch) [[unlikely]]
        began_ = begin();
    }
    ~fault_under_way() {
      if (counted_) [[unlikely]]
        end();
    }
    fault_under_way(const fault_under_way&) = delete;
    fault_under_way& operator=(const fault_under_way&) = delete;
    status began() const { return began_.clone(); }  // fails when the job is broken

   private:
    status begin();
    void end();
    homes& homes_;
    status began_;
    bool counted_ = false;
  };

  const window& frames(node_id node) const noexcept { return frames_[node]; }

 private:
  homes(port& p, pages& memory, bool one_memory) : port_(p), pages_(memory), one_memory_(one_memory) {}

  enum class state : word { initial = 0, claimed = 1, settled = 2 };
  static word encode(state s, node_id node) { return word{node} << 2 | static_cast<word>(s); }

  node_id manager(page_id p) const noexcept { return p / group % port_.nodes(); }
  std::uint64_t offset(page_id p) const noexcept {
    return (std::uint64_t{p / group / port_.nodes()} * group + p % group) * sizeof(word);
  }
  void settle(page_table::entry& e, node_id node) noexcept { e.settled = true, e.home_plus_1 = node + 1; }
  result<word> read(page_id p);
  result<node_id> claim(page_table::entry& e, page_id p);

  port& port_;
  pages& pages_;
  const bool one_memory_;
  lazy_memory own_words_;
  std::vector<window> frames_, words_;
  // Sequentially consistent, both: a fault counts itself and then looks at the phase, who moves changes the phase and then looks at the count.
  enum class phase : std::uint8_t { initialising, about_to_move, by_first_touch };
  std::atomic<phase> now_{phase::initialising};
  std::atomic<std::uint32_t> faults_{0};  // under way that may open a page whose home may move
};

}  // namespace weft::dsm
