// Lazy release consistency as in TreadMarks: a release only notes which pages were written. Write notices go with lock grants and
// barriers; a page of which there is a notice is closed, and when it is used again, the diffs that the copy lacks are fetched from their
// writers and put in, in causal order. A diff is made when it is first asked for, or when its page is closed.
//
// Pages have no homes. All frames begin as zeroes on every node, so every node has a first copy of every page. `first_copy::fetched` is
// TreadMarks' way, in which a node's first copy comes whole from another that has one: here from the page's manager.
//
// Memory is bounded: what is kept of intervals and diffs is collected when there is much of it (collection.cpp). Then a page's manager,
// which is fixed by its number, brings its copy up to date with all diffs; copies that lack some are given up, and fetched whole from
// the manager.
//
// Threads: as home_based. Faults hold the page's entry, also while they wait for diffs; releases, acquires and whatever else closes pages
// run one at a time behind the gate. Handlers never wait: what needs an entry or a gate that is held is done by whoever gives it back. An
// entry that is held while its holder waits for another node is that of a closed page, whose diffs are all made, so nobody who asks for
// them waits for it; nor for the gate, which they do not need.
#pragma once

#include <functional>
#include <list>
#include <mutex>

#include "observe/activity.h"
#include "dsm/homes.h"
#include "dsm/page_table.h"
#include "dsm/protocol.h"
#include "protocols/lrc/history.h"

namespace weft::protocols {

class lrc final : public dsm::protocol {
 public:
  enum class first_copy { zeroes, fetched };

  // Collective. Intervals and diffs take about `bound` bytes on each node; a release waits where they come close to it.
  static result<std::unique_ptr<lrc>> create(port& p, dsm::pages& memory, dsm::page_table& table, std::size_t bound,
                                             first_copy first, const dsm::exchange& with_all);

  const char* name() const noexcept override { return "lrc"; }
  status read_fault(dsm::page_id p) override { return fault(p, false); }
  status write_fault(dsm::page_id p) override { return fault(p, true); }
  status release() override;
  status acquire(bytes from_releasers) override;
  void knowledge(dsm::notices& into) override;
  void notices_for(bytes knowledge, dsm::notices& into) override;
  void news(dsm::notices& into) override;
  void all_told(bytes from_others) override;
  std::size_t unseen(bytes told) override;
  bool carries_notices() const noexcept override { return true; }
  status end_initialisation() override { return {}; }
  dsm::protocol_statistics statistics() const override;

 private:
  using counter = dsm::protocol_counters::counter;

  // A request that waits for its answer.
  struct question {
    std::vector<std::byte> answer;
    history::answer found = history::answer::all;
    std::atomic<bool> done{false};
  };
  // Something to do with a page whose entry is held, and something to do afterwards. Neither waits for other nodes.
  struct job {
    dsm::page_id page;
    std::function<void()> with_entry, afterwards;
    bool closes = false;  // needs the gate as well
  };
  // Holds an entry, and does what others could not do meanwhile.
  class hold {
   public:
    hold(lrc& of, dsm::page_id p) : lrc_(of), page_(p) { of.table_.take(p); }
    ~hold() {
      lrc_.table_.give(page_);
      lrc_.do_jobs();  // that need the page
    }
    hold(const hold&) = delete;
    hold& operator=(const hold&) = delete;
    dsm::page_table::entry* operator->() const noexcept { return &lrc_.table_.peek(page_); }

   private:
    lrc& lrc_;
    dsm::page_id page_;
  };

  // Has the gate, and does what others could not do meanwhile.
  class turn {
   public:
    explicit turn(lrc& of) : lrc_(of) { of.gate_.lock(); }
    ~turn() {
      lrc_.gate_.unlock();
      //~ lrc_leaves_pages_open
      lrc_.do_jobs();  // that need the gate
    }
    turn(const turn&) = delete;
    turn& operator=(const turn&) = delete;

   private:
    lrc& lrc_;
  };

  lrc(port& p, dsm::pages& memory, dsm::page_table& table, std::size_t bound, dsm::page_set missing);

  void count(counter c, std::uint64_t amount = 1) noexcept { counters_.add(c, amount); }

  // --- faults (lrc.cpp), with the entry -------------------------------------------------------------------------------------------
  status fault(dsm::page_id p, bool write);
  status bring_up_to_date(dsm::page_id p);
  status fetch_page(dsm::page_id p, const history::need& needed);
  status fetch_diffs(dsm::page_id p, const history::need& needed);
  result<bool> ask_for_diffs(dsm::page_id p, const history::need& needed,
                             std::vector<std::vector<diff>>& come);  // false: collected
  status wait_for_answers(std::vector<std::unique_ptr<question>>& asked, const char* what);

  // --- this node's own changes, with the entry ------------------------------------------------------------------------------------
  void close(dsm::page_id p);
  void take_diff(dsm::page_id p);
  std::vector<std::byte> changes_of(dsm::page_id p, bool& changed);

  // --- what others ask ------------------------------------------------------------------------------------------------------------
  void serve_page(const message& m);
  void serve_diffs(const message& m);
  void take_answer(const message& m);
  void add_jobs(std::list<job> more);
  void do_jobs();

  // --- collection (collection.cpp) ------------------------------------------------------------------------------------------------
  enum class step : word { want, begin, known, cut, parcel, more, done, forget };
  struct collecting {
    // At node 0, which leads.
    bool running = false, wanted = false;
    node_id answered = 0, finished = 0;
    vector_time cut;
    // At every node.
    vector_time agreed;
    std::vector<std::vector<std::byte>> outgoing;  // parcels, by node
    std::vector<std::size_t> sent;                 // bytes of each
    std::vector<std::vector<std::byte>> parcels;   // by node, as they arrive
    node_id arrived = 0;
    std::size_t jobs = 0;  // of the present step that are not done
  };
  bool ask_if_large(std::size_t share, std::uint64_t& epoch);
  status collect_if_large(std::size_t share);
  void take_step(const message& m);
  void tell(node_id node, step s, bytes content = {});
  void tell_all(step s, bytes content = {});
  void begin_if_idle();
  void take_known(bytes vector);
  void take_diffs_up_to(bytes vector);
  void make_parcels();
  void send_piece(node_id to);
  void take_piece(const message& m);
  void take_parcels();
  void put_in(dsm::page_id p, const std::vector<std::pair<node_id, bytes>>& from_writers);
  void one_job_less(const std::function<void()>& then);
  void finish_step();
  void forget();

  port& port_;
  dsm::pages& pages_;
  dsm::page_table& table_;
  const std::size_t bound_;
  dsm::gate gate_;
  dsm::protocol_counters counters_;

  mutable os::spin_lock lock_;  // guards all below; nothing waits or calls pages or the port with it
  history history_;
  vector_time told_ = vector_time(port_.nodes());  // what a barrier has told
  vector_time announced_ = told_;                  // what this node told at the barrier it is in
  bool in_barrier_ = false;                        // it has told its news, and has not heard all
  std::uint64_t asked_epoch_ = ~std::uint64_t{0};  // in which a collection was asked for
  collecting collecting_;
  std::list<job> jobs_;
  std::vector<std::unique_ptr<dsm::changes>> spare_;  // room for taking changes
  std::atomic<std::size_t> waiting_jobs_{0};          // sequentially consistent: against the entries and the gate
};

}  // namespace weft::protocols
