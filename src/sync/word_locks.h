// Queue locks made of words: the lock of Mellor-Crummey and Scott, as Cashmere 2.2 uses it across nodes.
//
// A lock is one word at its manager: who is last in line. Who wants it swaps itself in; if there was somebody before, it writes its
// name there and waits for a word of its own memory to change. Passing on is one store into the next one's memory.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "dsm/homes.h"
#include "dsm/protocol.h"
#include "os/spin.h"
#include "sync/locks.h"

namespace weft::sync {

class word_locks final : public locks {
 public:
  // Collective.
  static result<std::unique_ptr<word_locks>> create(port& p, dsm::protocol& protocol, const dsm::exchange& with_all);

  result<bool> lock(object_number n, duration limit) override;
  status unlock(object_number n) override;
  std::vector<object_number> held() override;

 private:
  // A place in a line: whether the lock has come, and who is next. In this node's part of `places_`.
  struct place {
    word granted;
    word next;  // 0: nobody yet; else a name
  };
  static constexpr std::uint32_t most_places = 4096;  // locks that the threads of a node hold or want at a time

  struct card {
    window tails, places;
  };

  word_locks(port& p, dsm::protocol& protocol) : port_(p), protocol_(protocol) {}

  static word name_of(node_id node, std::uint32_t place) { return word{node} << 32 | (place + 1); }
  place& at(std::uint32_t i) const noexcept { return reinterpret_cast<place*>(places_.base())[i]; }
  result<std::uint32_t> take_place();
  void give_place(std::uint32_t i);
  result<bool> try_for(object_number n, word self, duration limit);
  status write(word name, std::size_t member, word value);

  port& port_;
  dsm::protocol& protocol_;
  dsm::lazy_memory tails_, places_;
  std::vector<card> cards_;

  os::spin_lock lock_;  // guards the next two
  std::vector<std::uint32_t> free_;
  struct holding {
    std::uint32_t place;
    std::uint32_t thread;
  };
  std::unordered_map<object_number, holding> held_;  // by the threads of this node
};

}  // namespace weft::sync
