// Home-based lazy release consistency, as in HLRC-VIA and ViSMI (ViSMI section 5): a release sends the changes to the homes; a page
// that somebody else has changed is dropped at the acquire and fetched whole from its home when it is used again.
//
// Who has to drop what is said by write notices, which go with lock grants and barriers. A node's time is divided into intervals,
// each ended by a release that had something to tell; a vector of interval numbers says what a node has seen, so a grant carries
// what the acquirer lacks and no more. What a barrier has told everybody is forgotten at the next one: then nobody is still about to
// acquire it.
//
// Pages are asked for by a message, which the home's communication thread answers: so the home knows who has copies, and notes its
// own writes to those pages only. Changes come by messages as well.
//
// Update mode (ViSMI section 5): the home sends changes on to all who have copies, which stay valid; there is no notice then. What goes
// from a home to a holder, pages and updates, goes in order on one lane, so a copy is always the page as it was at the home at some
// moment. A release waits until the home has the changes, and says in its interval which updates that made for whom; a holder that
// acquires the interval waits for them. Those of writers who are ordered by synchronisation go through the home in that order, and so
// arrive in it. A holder puts them into its copy when they arrive: bytes that it has changed itself are not among them, in a race-free program.
#pragma once

#include <deque>
#include <mutex>
#include <string>

#include "base/bytes.h"
#include "dsm/home_based.h"

namespace weft::protocols {

// What becomes of copies of a page that has changed.
enum class copy_policy : std::uint8_t {
  dropped,  // because of notices
  updated,
  adaptive,  // page by page one or the other: what has paid so far
};

// What the variants differ in.
struct hlrc_settings {
  const char* name = "hlrc";
  copy_policy copies = copy_policy::dropped;
  bool moving = false;  // a page whose changes come from one node only gets that node for its home
  bool by_put =
      false;  // changes are put into the homes' frames, not sent to handlers there; only where copies are dropped and homes stay
};

class hlrc final : public dsm::home_based {
 public:
  // Collective.
  static result<std::unique_ptr<hlrc>> create(port& p, dsm::pages& memory, dsm::page_table& table, dsm::homes& homes,
                                              const hlrc_settings& settings, const dsm::exchange& with_all);

  const char* name() const noexcept override { return settings_.name; }
  status release() override;
  status acquire(bytes from_releasers) override;
  void knowledge(dsm::notices& into) override;
  void notices_for(bytes knowledge, dsm::notices& into) override;
  void news(dsm::notices& into) override;
  void all_told(bytes from_others) override;
  std::size_t unseen(bytes told) override;
  bool carries_notices() const noexcept override { return true; }

 private:
  // A home has sent so many updates to a holder since the start. Numbers begin at 0 again after the last.
  struct sent_updates {
    node_id home, to;
    std::uint32_t count;
  };
  // What a node wrote in one of its intervals, or in several up to it.
  struct interval {
    std::uint32_t number;
    std::vector<dsm::page_id> pages;
    std::vector<sent_updates> updates;  // the last that came of it, by home and holder
    bool late = false;                  // its node had told a barrier its news already, and was in it
    std::size_t size() const noexcept { return pages.size() + updates.size(); }
  };
  static constexpr std::uint32_t late_mark = 1u << 31;  // in the number of pages
  // A page request that waits for its answer.
  struct question {
    explicit question(node_id asked = 0, dsm::page_row wanted = {}) : home(asked), of(wanted) {}
    node_id home;
    dsm::page_row of;
    dsm::page_id served = 0;  // so many of them are here
    node_id elsewhere = 0;    // where to ask for the rest; the same node: ask it again
    bool outdated =
        false;  // an update from a new home has overtaken the answer of the old one; copies_lock_ guards it while it is asked
    bool answered = false;     // of one to become home: the page is here, or will not come; the driver's
    std::int32_t holders = 0;  // and so many have not said yet that they have all updates of the old home; the driver's
    std::atomic<bool> done{false};
  };
  // What a node knows of a page that it is or was home to.
  struct page_record {
    std::uint32_t gone_to_plus_1;  // who is home now; 0: this node, if it was
    std::uint16_t writer_plus_1;   // whose changes came last, this node's own included
    std::uint16_t fetched;         // what its fetches since then have cost
    std::uint8_t in_a_row;         // how many changes came from that writer
    std::uint8_t saving;           // what updates would have saved over the last changes, by holder
    std::uint8_t abandoned;        // how often its copies were updated and nobody used them
    std::uint8_t in_vain;          // how often changes were noted until nothing was left of what updates would have saved
    std::uint8_t to_skip;          // so many times such changes are not noted
    bool update;                   // adaptive: copies are updated
    bool updated;                  // some have been since this node became home
  };
  // What a node knows of its copy of a page whose copies are updated, adaptively.
  struct page_use {
    std::uint16_t updates;   // since it was last known to be used, by cost
    std::uint16_t patience;  // how much may come before it is looked whether it is used; 0: the least
    bool kept;               // closed, but good: for finding out whether it is used
  };
  struct doubtful_page {
    dsm::page_id page;
    node_id home;
  };
  struct moved_page {
    dsm::page_id page;
    node_id to;
  };

  // Changes that are on their way to homes. Handlers count, whoever waits looks: the acquire of its being complete pairs with the
  // handlers' release.
  struct delivery {
    std::atomic<std::uint32_t> sent{0}, replies{0};
    // The driver's until all replies are here.
    std::vector<dsm::page_id> untold;   // pages whose holders must be told by notices
    std::vector<dsm::page_id> offered;  // pages whose home this node should be
    std::vector<moved_page> moved;      // pages whose home has moved: their changes have to be sent again
    std::vector<sent_updates> updates;  // that have come of them
    bool complete() const noexcept { return replies.load(std::memory_order_acquire) == sent.load(std::memory_order_relaxed); }
  };

  struct tables {
    dsm::page_set copied;
    os::mapping holders, records, uses;
  };
  hlrc(const parts& of, const hlrc_settings& settings, tables t)
      : home_based(of, settings.by_put ? dsm::changes::form::runs : dsm::changes::form::patches),
        settings_(settings),
        seen_(port_.nodes()),
        log_(port_.nodes()),
        copied_(std::move(t.copied)),
        holders_(std::move(t.holders)),
        records_(std::move(t.records)),
        uses_(std::move(t.uses)) {}

  status fetch(node_id home_of_all, dsm::page_row r) override;
  bool fetches_apart() const noexcept override { return true; }
  dsm::page_id answers_at_once() const noexcept override { return 4; }
  bool shared_by_others(dsm::page_id p) override;
  status leave(node_id, dsm::page_id) override { return {}; }  // the notice that made us leave says it
  bool mirrors(dsm::page_id p) override;
  bool still_good(dsm::page_id p) override;
  status deliver(std::span<const dsm::changes> by_home, std::vector<written_page>& changed) override;

  status fetch_rest(const question& first);
  status ask(std::vector<std::unique_ptr<question>>& all);
  void serve_page(const message& m);
  void take_page(const message& m);
  status send_home(node_id home, std::span<const dsm::patch> changed, delivery& d);
  status send_again(std::span<const dsm::changes> by_home, delivery& d);
  status wait_for(delivery& d);
  status rest();
  void serve_changes(const message& m);
  void take_changes_reply(const message& m);
  std::vector<sent_updates> forward(node_id writer, std::span<const dsm::patch> changed, std::vector<dsm::page_id>& untold);
  void take_update(const message& m);
  static void add_later(const std::vector<sent_updates>& more, std::vector<sent_updates>& to);
  status wait_for_updates(const std::vector<std::pair<node_id, interval>>& of);
  void take_at_home(node_id writer, std::vector<dsm::patch>& changed, base::writer& reply);
  bool at_home(dsm::page_id p, node_id& elsewhere) const;
  bool note_change(dsm::page_id p, node_id writer, unsigned cost);
  bool notes_unread_changes(dsm::page_id p);
  void note_fetch(node_id by, dsm::page_row r);
  bool updates(dsm::page_id p) const { return settings_.copies == copy_policy::updated || (adapts() && record(p).update); }
  bool knows_holders() const noexcept { return settings_.copies != copy_policy::dropped; }
  bool adapts() const noexcept { return settings_.copies == copy_policy::adaptive; }
  void note_update(const dsm::patch& changed, node_id home);
  void forget_kept(std::span<const dsm::page_id> list);
  bool waits_longer(dsm::page_id p);
  status question_copies();
  status leave_copy(const doubtful_page& d);
  void serve_leave(const message& m);
  void free_abandoned();
  status move_homes(std::vector<written_page>& written);
  void close_wanted(std::vector<written_page>& written);
  status become_home(dsm::page_id p);
  void serve_home(const message& m);
  void take_home(const message& m);
  void serve_flush(const message& m);
  void take_flush(const message& m);
  void now_home(question& q);
  void watch_copied(std::vector<written_page>& written);
  void end_watches(const std::vector<written_page>& written);

  // A bit for each node that may have a copy of a page whose home is here.
  static std::size_t holder_words(node_id nodes) noexcept { return (nodes + 63) / 64; }
  std::span<word> holders(dsm::page_id p) const noexcept {
    const std::size_t n = holder_words(port_.nodes());
    return {reinterpret_cast<word*>(holders_.base()) + p * n, n};
  }

  static void write(dsm::notices& into, node_id node, const interval& i);
  bool read(base::reader& in, node_id& node, interval& i) const;  // false: it makes no sense
  void compact(node_id node);

  static constexpr dsm::page_id most_in_answer = most_payload / dsm::page_bytes;
  static constexpr std::uint8_t changes_in_a_row = 2;   // from one node, and it is offered the page
  static constexpr std::uint8_t updates_in_a_row = 16;  // the same of a page whose copies are updated: there is less to gain
  // Costs, in those of telling one holder of one changed word.
  static constexpr unsigned request_cost = 80, idle_request_cost = 40;  // of a fetch, from a home that computes or waits
  static constexpr unsigned page_cost = 2;                              // of each page in it
  static constexpr unsigned update_cost = 7;                            // if it is not known how much has changed
  static constexpr unsigned enough_saved = 80, most_saved = 255;  // then copies are updated; twice as much if it was a mistake
  static constexpr unsigned counts_for = 32;                      // changes, about, that something saved counts for
  static constexpr std::uint8_t most_abandoned = 2,
                                most_in_vain = 4;  // times; a page that is abandoned so often is not updated any more
  static_assert(enough_saved << most_abandoned > most_saved);
  static constexpr dsm::page_id most_shared = 128;  // pages of a row; in longer ones another request makes no difference
  static constexpr std::uint16_t least_patience = 15, most_patience = 10000;
  static unsigned cost_of(const dsm::patch& changed) { return 1 + static_cast<unsigned>(changed.encoded().size() / 1024); }
  static constexpr std::size_t most_logged = std::size_t{1} << 20;  // pages, of one node; beyond, its intervals are merged

  // Requests of one node, each for the pages behind those of the one before it.
  struct fetched_row {
    dsm::page_row of;
    unsigned cost;
    // A page that was asked for alone may be the first of a row: the rest of what that cost is known when something else is asked for.
    unsigned cost_of_each() const {
      return of.count == 0 ? 0 : (of.count == 1 ? cost - rest_of_one() : cost / of.count) + page_cost;
    }
    unsigned rest_of_one() const { return cost * 3 / 4; }
    bool continued_by(const dsm::page_row& r) const {
      return of.count == 1 ? of.first + r.stride == r.first : of.end() == r.first && (of.stride == r.stride || r.count == 1);
    }
  };

  const hlrc_settings settings_;

  os::spin_lock log_lock_;           // guards the next five
  std::vector<std::uint32_t> seen_;  // by node: its last interval that this node has acquired
  std::vector<std::uint32_t> told_ =
      std::vector<std::uint32_t>(port_.nodes());  // by node: its last interval that a barrier has told
  std::vector<std::deque<interval>> log_;         // by node: since the barrier before the last
  std::vector<std::uint32_t> announced_ = told_;  // by node: its last interval that this node told at the barrier it is in
  bool in_barrier_ = false;                       // it has told its news, and has not heard all
  std::vector<std::size_t> logged_ = std::vector<std::size_t>(port_.nodes());  // by node: the sizes of these

  std::vector<sent_updates> untold_updates_;      // that came of this node's changes since its last interval; behind the gate
  std::vector<std::uint32_t> forwarded_ = told_;  // by holder: updates that this node has sent it as a home; the driver's
  // Patches of the message that is made. They keep their memory from one to the next.
  base::writer going_home_;                                                        // behind the gate
  std::vector<base::writer> going_on_ = std::vector<base::writer>(port_.nodes());  // by holder; the driver's
  // By home: updates that have come. Handlers add, and the release pairs with the acquire of who waits.
  std::unique_ptr<std::atomic<std::uint32_t>[]> received_ = std::make_unique<std::atomic<std::uint32_t>[]>(port_.nodes());

  page_use& use(dsm::page_id p) const noexcept { return reinterpret_cast<page_use*>(uses_.base())[p]; }
  page_record& record(dsm::page_id p) const noexcept { return reinterpret_cast<page_record*>(records_.base())[p]; }

  os::spin_lock copies_lock_;               // guards everything that follows, except offered_
  dsm::page_set copied_;                    // pages whose home is here, and that others may have copies of
  std::vector<dsm::page_id> newly_copied_;  // of them, those that the last release did not know of
  os::mapping holders_;                     // unless copies are dropped always
  os::mapping records_, uses_;
  std::vector<fetched_row> rows_ = std::vector<fetched_row>(port_.nodes());  // by who asks
  std::vector<doubtful_page> doubtful_;                                      // copies that have been updated and maybe not used
  std::vector<dsm::page_id> abandoned_;  // pages whose home is here, that nobody seems to have a copy of any more
  std::vector<question*> questions_;     // where homes move and copies are updated: those that wait
  std::vector<dsm::page_id> asked_for_;  // pages that this node asks to be home to
  std::vector<dsm::page_id> wanted_;     // pages whose home is here, that others would have and the view has open
  std::vector<dsm::page_id> offered_;    // pages whose home this node could be; behind the gate
};

}  // namespace weft::protocols
