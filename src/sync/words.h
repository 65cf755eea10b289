// Words that nodes synchronise by: flags, counters, and what condition variables, shared locks and barriers of groups are made of.
//
// A word lies at its object's manager. It is changed under a lock of the same number, whose hand-over carries what the protocol has
// to tell; it is looked at without. Who waits for a change leaves a bit beside the word, and whoever makes the change rings at its node.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "dsm/homes.h"
#include "dsm/protocol.h"
#include "sync/locks.h"

namespace weft::sync {

class words {
 public:
  using duration = locks::duration;

  // Collective.
  static result<std::unique_ptr<words>> create(port& p, dsm::protocol& protocol, locks& by, const dsm::exchange& with_all);

  // Changes a word as `how` says, or leaves it if that gives nothing; the value before.
  using change = std::function<std::optional<word>(word)>;
  result<word> update(object_number n, const change& how);

  result<word> load(object_number n);

  // Waits until `enough` holds for the word; false if not within the limit. Nothing is acquired yet.
  result<bool> wait(object_number n, const std::function<bool(word)>& enough, duration limit);

  // What was released before the word got its value is visible now.
  status acquire(object_number n);

 private:
  // A bit for each node of a job of at most 64; in larger ones several share it.
  struct object {
    word value, waiting;
  };
  struct card {
    window objects, bells;
  };
  static constexpr std::size_t bells = 64;  // of a node; objects share them by their numbers

  words(port& p, dsm::protocol& protocol, locks& by) : port_(p), protocol_(protocol), locks_(by) {}
  std::uint64_t offset(object_number n) const noexcept { return std::uint64_t{index_of(n)} * sizeof(object); }
  static std::uint64_t bell_offset(object_number n) noexcept { return n % bells * sizeof(word); }
  word bell(object_number n) const;
  result<bool> change_and_ring(object_number n, word value);  // whether anybody has waited
  status ring(object_number n, node_id node);

  port& port_;
  dsm::protocol& protocol_;
  locks& locks_;
  dsm::lazy_memory own_, bells_;
  std::vector<card> cards_;     // by node
  std::atomic<word> rings_{0};  // of this node's; relaxed: each rings with another number
};

}  // namespace weft::sync
