// protocol: how copies of pages are kept coherent. Cashmere 2.2's four events are the interface: a fault on reading, a fault on
// writing, a release, an acquire.
//
// All protocols are multiple-writer and give sequential consistency to race-free programs. They are written in plain blocking style
// against port and pages alone, so that one source runs in production, in the simulator and in the deterministic tests: the only
// way to wait is port::wait, or an operation of the port that waits.
//
// Notices are how synchronisation carries a protocol's news without looking inside: bytes that go from a releaser to an acquirer.
// Those of several releasers may simply be put one after another. A protocol that tells its news by itself (Cashmere) has empty
// ones.
//
// Threads: any number of application threads may fault, release and acquire at once. What deals with notices only (knowledge,
// notices_for, news) does not wait, and may be called from handlers.
#pragma once

#include <memory>
#include <vector>

#include <weft/port.h>

#include "dsm/pages.h"
#include "dsm/protocol_statistics.h"

namespace weft::dsm {

using notices = std::vector<std::byte>;

class protocol {
 public:
  virtual ~protocol() = default;
  virtual const char* name() const noexcept = 0;

  // The application accessed a page that its view does not let it. Returns when it may.
  virtual status read_fault(page_id p) = 0;
  virtual status write_fault(page_id p) = 0;

  // What this node's threads wrote before is where others will find it.
  virtual status release() = 0;

  // What the releasers wrote that the notices are of is seen from now on.
  virtual status acquire(bytes from_releasers) = 0;

  // For locks: what this node knows goes with its request; the releaser answers with what it lacks.
  virtual void knowledge(notices& into) { (void)into; }
  virtual void notices_for(bytes knowledge, notices& into) { (void)knowledge, (void)into; }

  // For barriers: what this node wrote and the last one did not tell. Also others' writes that a lock has brought here from a node that was
  // in the barrier already. All nodes acquire everybody's; then each is told what came from the others, which all know when
  // the next barrier ends: until then some may still be about to acquire it.
  virtual void news(notices& into) { (void)into; }
  virtual void all_told(bytes from_others) { (void)from_others; }

  // How many written pages notices tell of that this node has not seen.
  virtual std::size_t unseen(bytes told) { return (void)told, 0; }

  // Whether notices are ever more than nothing.
  virtual bool carries_notices() const noexcept = 0;

  // All nodes, at a barrier: the program's initialisation has ended, and pages will get their homes by first touch. Returns when this node
  // has no page open whose home may move, and opens none until its homes do move, when all nodes have returned.
  virtual status end_initialisation() = 0;

  virtual protocol_statistics statistics() const = 0;
};

}  // namespace weft::dsm
