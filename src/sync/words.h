// Words that nodes synchronise by: flags, counters, and what condition variables, shared locks and barriers of groups are made of.
//
// A word lies at its object's manager. It is changed under a lock of the same number, whose hand-over carries what the protocol has
// to tell; it is looked at without.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "dsm/homes.h"
#include "sync/locks.h"

namespace weft::sync {

class words {
 public:
  using duration = locks::duration;

  // Collective.
  static result<std::unique_ptr<words>> create(port& p, locks& by, const dsm::exchange& with_all);

  // Changes a word as `how` says, or leaves it if that gives nothing; the value before.
  using change = std::function<std::optional<word>(word)>;
  result<word> update(object_number n, const change& how);

  result<word> load(object_number n);

  // Waits until `enough` holds for the word; false if not within the limit. Nothing is acquired yet.
  result<bool> wait(object_number n, const std::function<bool(word)>& enough, duration limit);

  // What was released before the word got its value is visible now.
  status acquire(object_number n);

 private:
  words(port& p, locks& by) : port_(p), locks_(by) {}
  std::uint64_t offset(object_number n) const noexcept { return std::uint64_t{index_of(n)} * sizeof(word); }

  port& port_;
  locks& locks_;
  dsm::lazy_memory own_;
  std::vector<window> windows_;
};

}  // namespace weft::sync
