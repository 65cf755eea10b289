// What all home-based protocols share: a page has a home whose frame is the master copy; other nodes open copies of it, send their
// changes there, and drop their copies when they are told.
//
// A protocol adds how it learns who has copies, and how it tells them: the virtual functions below.
//
// Threads: faults hold the page's entry; release and acquire run one at a time behind the gate and take entries in ascending order.
// A fault holds one entry and tries for its neighbours, so nobody waits in a circle.
#pragma once

#include <atomic>
#include <vector>

#include "observe/activity.h"
#include "dsm/fault_rows.h"
#include "dsm/homes.h"
#include "dsm/page_set.h"
#include "dsm/page_table.h"
#include "dsm/protocol.h"

namespace weft::dsm {

class home_based : public protocol {
 public:
  status read_fault(page_id p) final { return fault(p, false); }
  status write_fault(page_id p) final { return fault(p, true); }
  status end_initialisation() final;
  protocol_statistics statistics() const final { return counters_.statistics(); }

 protected:
  struct parts {
    weft::port& port;
    dsm::pages& pages;
    page_table& table;
    dsm::homes& homes;
  };
  // In what form changes are to be delivered.
  explicit home_based(const parts& of, changes::form delivered = changes::form::runs)
      : port_(of.port), pages_(of.pages), table_(of.table), homes_(of.homes), gate_(of.port) {
    for (node_id n = 0; n < port_.nodes(); ++n) outgoing_.emplace_back(delivered);
  }

  struct written_page {
    page_id page;
    node_id home;
  };

  // --- what a protocol provides --------------------------------------------------------------------------------------------------

  // Fills the frames of pages whose home is `home`, and has it known that this node has copies from now on.
  virtual status fetch(node_id home, page_row r) = 0;

  // Whether it takes no longer to fetch pages that are not neighbours.
  virtual bool fetches_apart() const noexcept = 0;

  // How many times as much as pages are opened at once it is worth asking for, in a long row.
  virtual page_id answers_at_once() const noexcept { return 1; }

  // Whether other nodes have copies of a page whose home is here, and of which that is not known yet.
  virtual bool shared_by_others(page_id p) = 0;

  // This node has no copy of the page any more.
  virtual status leave(node_id home, page_id p) = 0;

  // The program is about to write to a page that is noted, and this came as a fault; the caller holds the page's entry.
  virtual status will_write(node_id home, page_id p) { return (void)home, (void)p, status(); }

  // Nobody has copies of pages whose home is here any more, and they are not noted from now on.
  virtual void set_free(extent e) { (void)e; }

  // Whether the frame of a page that is closed is a good copy still, so that it need not be fetched. The caller opens it then.
  virtual bool still_good(page_id p) { return (void)p, false; }

  // Whether what this node changes in a page whose home is here, and of which there are copies, must be known exactly.
  virtual bool mirrors(page_id p) { return (void)p, false; }

  // Brings changes to the homes they are sorted by, and waits until they are there. Those of this node's own mirrored pages are there
  // already. `changed` has their pages; those that nobody needs to hear of any more may be taken out. The puts do without a handler.
  virtual status deliver(std::span<const changes> by_home, std::vector<written_page>& changed);

  // --- what a protocol uses, behind the gate -------------------------------------------------------------------------------------

  // Sends the changes of all pages that were written since the last time to their homes, and waits until they are there. Appends
  // the pages that others must hear of, with their homes.
  status publish(std::vector<written_page>& into);

  // Pages whose home is here have been copied by others. Those that are free and may have been written since count as written, because we
  // cannot know: they are appended, and taken out of the list.
  void count_free(std::vector<page_id>& list, std::vector<written_page>& into);

  // Pages whose home is here have been copied by others: they are watched from now on. Appends those that must count as written,
  // where we cannot know: not those that the view does not have open, or that have been watched before. Orders the list.
  void start_watching(std::vector<page_id>& list, std::vector<written_page>& into);

  // The same, of pages that are free or watched: they are mirrored from now on.
  void start_mirroring(std::vector<page_id>& list, std::vector<written_page>& into);

  // Nobody has a copy: nothing needs to be noted any more. Orders the list.
  void stop_watching(std::vector<page_id>& list);

  // Drops this node's copies of the pages, which are in ascending order. Changes that are not published yet go to the homes first.
  status drop(const std::vector<page_id>& list);

  using counter = protocol_counters::counter;
  void count(counter c, std::uint64_t amount = 1) noexcept { counters_.add(c, amount); }

  // Counts a release or an acquire, and its time for as long as the result lives.
  struct work {
    observe::during timed;
    observe::span traced;
  };
  [[nodiscard]] work working(counter c) noexcept {
    count(c);
    return {{port_.activity(), observe::phase::protocol},
            {port_.activity(), c == counter::releases ? observe::trace_kind::release : observe::trace_kind::acquire}};
  }

  weft::port& port_;
  dsm::pages& pages_;
  page_table& table_;
  dsm::homes& homes_;
  gate gate_;

 private:
  status fault(page_id p, bool write);
  status open_home(page_table::entry& e, page_id p);
  void open_kept(page_id p);
  template <typename Belongs>
  page_id take_followers(page_id p, Belongs&& belongs);
  void show_opened(extent all, view how);
  status open_copy(page_id p, node_id home);
  page_row claim_ahead(page_id p, node_id home);
  template <typename Belongs, typename Do>
  void for_runs(const std::vector<page_id>& list, Belongs&& belongs, Do&& each);
  status drop_run(extent run);
  status send_changes(std::vector<written_page>& changed);

  std::vector<changes> outgoing_;         // by home; behind the gate
  std::vector<written_page> unreleased_;  // changes that went home when their copies were dropped; behind the gate
  fault_rows rows_;
  protocol_counters counters_;
};

}  // namespace weft::dsm
