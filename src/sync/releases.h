// The releases of a node: made, or put off.
//
// A lock that the same node takes again and again, and nobody else asks for, is unlocked without a release: what was written under it is
// sent when another node asks for the lock. That keeps the memory model. What happened before an unlock must be seen after a later lock of
// the same mutex, and of nothing else: on this node it is, in hardware; before the lock goes to another node, the release is made up
// for. Every other release of this node, at a barrier or of another lock, takes what was put off along, because a release is the whole
// node's.
//
// Any thread, and several at once: a protocol makes one release at a time, and whoever finds nothing left to send finds it sent. So what is
// made up for while a node is on its way into a barrier is told there, or it is an interval that ended later, which goes with the lock.
#pragma once

#include <atomic>
#include <cstdint>

#include "dsm/protocol.h"

namespace weft::sync {

class releases {
 public:
  explicit releases(dsm::protocol& of) : protocol_(of) {}

  // An unlock that was put off has a number; 0: none.
  using number = std::uint64_t;
  number put_off() noexcept { return last_.fetch_add(1) + 1; }
  bool owed(number n) const noexcept { return n > done_.load(); }

  // A release takes along what was put off before it began, and no more.
  status make() {
    //~ deferred_release_counts_as_made_at_once
    const number before = last_.load();
    if (auto released = protocol_.release(); !released) return released;
    for (number done = done_.load(); done < before && !done_.compare_exchange_weak(done, before);) {
    }
    return {};
  }

  // Unless that has been done meanwhile.
  status make_up_for(number n) { return owed(n) ? make() : status(); }

 private:
  dsm::protocol& protocol_;
  std::atomic<number> last_{0}, done_{0};
};

}  // namespace weft::sync
