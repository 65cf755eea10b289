// Cashmere without copies (Kontothanassis and Scott 1996, section 2.2: a fault maps the remote page), where the nodes' memory is mapped and
// the processors keep it coherent.
//
// All nodes' frames are one piece of memory, so a page is where its home has it and where everybody else sees it. A fault opens the
// page there, and that is all: reads and writes go to the master copy, so there are no twins, changes, notices and invalidations, and a
// release or an acquire has nothing to do but to order this thread's own accesses.
//
// Homes are kept all the same, so that statistics tell a node's own pages from those of others. Moving one moves no data.
//
// Threads: any; a fault holds its page's entry and tries for its neighbours'.
#pragma once

#include "dsm/homes.h"
#include "dsm/page_table.h"
#include "dsm/protocol.h"

namespace weft::protocols {

class in_place final : public dsm::protocol {
 public:
  // `homes` are of frames that all nodes share.
  in_place(port& p, dsm::pages& memory, dsm::page_table& table, dsm::homes& homes)
      : port_(p), pages_(memory), table_(table), homes_(homes) {}

  const char* name() const noexcept override { return "cashmere:in-place"; }
  status read_fault(dsm::page_id p) override { return fault(p, counter::read_faults); }
  status write_fault(dsm::page_id p) override { return fault(p, counter::write_faults); }
  status release() override;
  status acquire(bytes) override;
  bool carries_notices() const noexcept override { return false; }
  status end_initialisation() override;
  dsm::protocol_statistics statistics() const override { return counters_.statistics(); }

 private:
  using counter = dsm::protocol_counters::counter;

  status fault(dsm::page_id p, counter which);

  port& port_;
  dsm::pages& pages_;
  dsm::page_table& table_;
  dsm::homes& homes_;
  dsm::protocol_counters counters_;
};

}  // namespace weft::protocols
