// observed: what the runtime asks of a space for the statistics and the roll-call, and how the space notes what threads do.
#pragma once

#include <atomic>
#include <optional>
#include <vector>

#include <weft/port.h>

#include "observe/activity.h"
#include "dsm/page_profile.h"
#include "dsm/protocol_statistics.h"
#include "observe/allocation_log.h"

namespace weft::runtime {

class observed {
 public:
  virtual const char* protocol() const noexcept = 0;
  virtual const char* engine() const noexcept { return ""; }
  virtual dsm::protocol_statistics statistics() const { return {}; }

  // Barriers of all nodes that this node has come to, collective allocations and reductions included.
  std::uint64_t barriers() const noexcept { return barriers_.load(std::memory_order_relaxed); }

  // What happens to pages and where they were allocated, for whoever turns it on; null where no software keeps them coherent.
  virtual dsm::page_profile* profile() noexcept { return nullptr; }
  virtual observe::allocation_log* allocations() noexcept { return nullptr; }

  // What being observed has cost this node so far, in time of its threads: for their phases, and for the pages and allocations.
  struct watching {
    base::nanoseconds phases = 0, pages = 0;
  };
  watching cost_of_watching() {
    const auto* pages = profile();
    const auto* blocks = allocations();
    return {activity_ ? activity_->cost() : 0, (pages ? pages->cost() : 0) + (blocks ? blocks->cost() : 0)};
  }

  // What threads of this node hold, as wait_record::object says it; and who holds what a thread of this node waits for, where it can
  // be seen from here.
  virtual std::vector<std::uint64_t> held() { return {}; }
  virtual std::optional<node_id> holder(const wait_record&) { return {}; }

 protected:
  explicit observed(observe::activity* a) noexcept : activity_(a) {}
  ~observed() = default;

  wait_record note(const wait_record& w) { return activity_ ? activity_->waits_for(w) : wait_record{}; }
  void note(observe::event e) {
    if (activity_) activity_->count(e);
  }
  void note_begin(std::uint32_t thread) {
    if (activity_) activity_->begin(thread);
  }
  void note_end() {
    if (activity_) activity_->end();
  }
  // All nodes meet, for as long as it lives. One thread of a node is in a barrier at a time.
  class meeting {
   public:
    meeting(observed& of, const void* caller) : of_(of), before_(of.note(of.next_barrier(caller))) {}
    ~meeting() {
      of_.note(before_);
      of_.note_met();
    }
    meeting(const meeting&) = delete;
    meeting& operator=(const meeting&) = delete;

   private:
    observed& of_;
    const wait_record before_;
  };
  void note_met() {
    if (activity_) activity_->end_epoch();
  }
  wait_record next_barrier(const void* caller) {
    return {.what = wait_kind::barrier, .detail = barriers_.fetch_add(1, std::memory_order_relaxed) + 1, .caller = caller};
  }

  observe::activity* const activity_;

 private:
  std::atomic<std::uint64_t> barriers_{0};  // relaxed: a number
};

}  // namespace weft::runtime
