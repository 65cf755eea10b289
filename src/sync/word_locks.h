// Queue locks made of words: the lock of Mellor-Crummey and Scott, as Cashmere 2.2 uses it across nodes.
//
// A lock is one word at its manager: who is last in line. Who wants it swaps itself in; if there was somebody before, it leaves its
// name there and waits for a word of its own memory to change. Passing on is one store into the next one's memory.
//
// A free lock's word says which node had it last. A node that had it last and takes it again keeps it when it unlocks (releases.h): it stays
// first in line, and says so in the word where the next one leaves its name. So it can lock it again without a look at the network;
// and who comes next sees that nobody is about to pass the lock on, and sends a message. That is the one message of these locks.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "dsm/chores.h"
#include "dsm/homes.h"
#include "dsm/protocol.h"
#include "os/spin.h"
#include "sync/locks.h"
#include "sync/releases.h"

namespace weft::sync {

class word_locks final : public locks {
 public:
  // Collective. `later` may be null: then no lock is kept.
  static result<std::unique_ptr<word_locks>> create(port& p, dsm::protocol& protocol, releases& own, dsm::chores* later,
                                                    const dsm::exchange& with_all);

  bool take_here(object_number n) override;
  result<bool> lock(object_number n, duration limit) override;
  status unlock(object_number n, bool soon_wanted) override;
  std::vector<object_number> held() override;

 private:
  // A place in a line: whether the lock has come, and who is next. In this node's part of `places_`.
  struct place {
    word granted;
    word next;  // 0: nobody yet; `kept`: nobody, and the node keeps the lock; else a name
  };
  static constexpr std::uint32_t most_places =
      65536;  // locks that the threads of a node hold or want, and that it keeps, at a time
  static constexpr std::uint32_t most_kept = most_places - 4096;
  static constexpr word kept = ~word{0};

  struct card {
    window tails, places;
  };

  // A lock that a thread of this node has locked, or that the node keeps.
  struct holding {
    std::uint32_t place;
    std::uint32_t thread;  // 0: none, it is kept; `leaving`: none, and it is about to be passed on
    bool again;            // this node had it last when it took it
    bool kept = false;     // its place says that
    releases::number owes = 0;
  };
  static constexpr std::uint32_t leaving = ~std::uint32_t{0};  // no thread has this number

  word_locks(port& p, dsm::protocol& protocol, releases& own, dsm::chores* later)
      : port_(p), protocol_(protocol), releases_(own), later_(later) {}

  // A free lock's word: 0 at first, then who had it last.
  static word free_after(node_id node) { return word{1} << 63 | (node + 1); }
  static bool is_free(word tail) { return tail == 0 || tail >> 63 != 0; }
  static bool is_name(word next) { return next != 0 && next != kept; }

  static word name_of(node_id node, std::uint32_t place) { return word{node} << 32 | (place + 1); }
  place& at(std::uint32_t i) const noexcept { return reinterpret_cast<place*>(places_.base())[i]; }
  result<std::uint32_t> take_place();
  void give_place(std::uint32_t i);
  status stand_in_line(object_number n, std::uint32_t place, word before);
  result<word> try_for(object_number n, word self, duration limit);
  bool keep(object_number n, std::uint32_t place);
  status pass_on(object_number n, std::uint32_t place);
  void take_wanted(const message& m);
  status ask_for(object_number n, word name);

  port& port_;
  dsm::protocol& protocol_;
  releases& releases_;
  dsm::chores* const later_;
  dsm::lazy_memory tails_, places_;
  std::vector<card> cards_;

  os::spin_lock lock_;               // guards all below
  std::vector<std::uint32_t> free_;  // places that have been used and are free again
  std::uint32_t used_places_ = 0;    // at some time: those from here on are free as well
  std::unordered_map<object_number, holding> held_;
  std::uint32_t kept_ = 0;  // how many of held_ are
};

}  // namespace weft::sync
