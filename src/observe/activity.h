// activity: what the threads of one node are doing. How their time divides into computing, fetching pages, locks, barriers, handlers
// and the protocol (ViSMI, Figure 3), how often things happened, and what each thread waits for at the moment.
//
// A thread writes its own row and nobody else does; anybody may read all rows at any time. So the counts can be shown while the
// program runs, and a node can be asked why it does not get on. Time is taken where a thread enters or leaves a phase, never while it
// computes. Entering and leaving nest: what is inside is taken out of what is around it, so no moment is counted twice.
//
// Rows belong to application threads: a thread gets one when it begins, waits or faults for the first time. A handler that runs on
// a thread without one (the communication thread) is counted apart. Threads beyond the 63rd have none: what they do is counted but
// not timed.
//
// Time is also kept by epoch, from one barrier of all nodes to the next, and by lock: the few of each thread that cost it most.
//
// Where time and threads come from is the owner's choice, so that fibers on a virtual clock can be told apart as threads are.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include <weft/detail/wait_record.h>

#include "base/clock.h"
#include "base/thread_slot.h"
#include "observe/trace.h"

namespace weft::observe {

enum class phase : std::uint8_t { away, compute, fetch, lock, barrier, handler, protocol };
inline constexpr std::size_t phases = 7;

enum class event : std::uint8_t { lock_acquires, lock_waits, value_waits, condition_waits };
inline constexpr std::size_t events = 4;

class activity {
 public:
  // Where time and threads come from. Null functions: the machine's own clock and threads.
  struct source {
    base::nanoseconds (*now)(void* context);
    base::thread_identity (*thread)(void* context);
    void* context;
    bool timed;  // whether phases are timed; otherwise there is only what threads wait for, and counts
  };
  // The machine's threads and its clock: to the nanosecond if phases are timed, else to some milliseconds, which is cheaper.
  static source machine(bool timed);

  // Rows of `peers` nodes for the traffic.
  explicit activity(const source& from, std::uint32_t peers);
  activity(const activity&) = delete;
  activity& operator=(const activity&) = delete;

  // --- by the thread itself -----------------------------------------------------------------------------------------------------

  // From here on, and until end(), the calling thread counts as one of the program's, with this number; else it does from its first
  // wait to its last.
  void begin(std::uint32_t number) noexcept;
  void end() noexcept;

  // The calling thread waits for `next` from now on, and is in the phase that goes with it; what it waited for before, for going back
  // to it. A record without a time begins now.
  wait_record waits_for(const wait_record& next) noexcept;

  // The calling thread enters a phase, whatever it waits for; what it was in before, for going back to it.
  struct place {
    observe::phase in = phase::away;
    base::nanoseconds since = 0;  // on a thread without a row
  };
  place enter(observe::phase in) noexcept;
  void leave(const place& before) noexcept;

  void count(event e) noexcept;

  // All nodes have met: an epoch ends here. One thread of a node calls at a time.
  void end_epoch();

  // Where events go from now on, or null. Set before the program's threads start; the activity must be timed.
  void trace_into(trace* t) noexcept { trace_ = t; }
  trace* tracing() const noexcept { return trace_; }
  std::size_t slot() const { return caller().slot; }

  // Bytes of pages that came from a node, and of changes that went there.
  void fetched(std::uint32_t from, std::uint64_t bytes) noexcept { add(traffic_[from].fetched, bytes); }
  void changed(std::uint32_t at, std::uint64_t bytes) noexcept { add(traffic_[at].changed, bytes); }

  // --- by anybody, at any time --------------------------------------------------------------------------------------------------

  bool timed() const noexcept { return timed_.load(std::memory_order_relaxed); }  // relaxed: a wish, and may be heard a little late
  void time_from_now_on() noexcept { timed_.store(true, std::memory_order_relaxed); }  // for who looks on while the program runs
  base::nanoseconds now() const {
    if (from_.now) return from_.now(from_.context);
    return timed() ? base::now() : base::about_now();
  }

  struct times {
    std::uint32_t threads = 0;                      // that have had a row
    std::array<base::nanoseconds, phases> spent{};  // of all of them together
    base::nanoseconds served = 0;                   // by handlers on threads that have no row
  };
  times summed() const;

  // What keeping all this has cost so far: timing, at what it costs when first asked, and whatever else somebody has added.
  base::nanoseconds cost() const;
  void add_cost(base::nanoseconds n) noexcept { cost_.fetch_add(n, std::memory_order_relaxed); }
  std::uint64_t sum(event e) const noexcept;

  // Each of `barriers` barriers; when there would be more than most_epochs, two and two become one.
  static constexpr std::size_t most_epochs = 256;
  struct epoch_times {
    std::uint64_t barriers = 1;
    std::vector<std::array<base::nanoseconds, phases>> spent;
  };
  epoch_times epochs() const;

  // What threads have waited for longest, of mutexes and the like: a few of each thread, those of all threads summed.
  struct contended {
    wait_record what;  // the last of them
    std::uint64_t waits = 0;
    base::nanoseconds waited = 0;
  };
  std::vector<contended> most_contended() const;

  struct bytes_moved {
    std::uint64_t fetched = 0, changed = 0;
  };
  std::vector<bytes_moved> traffic() const;

  struct thread_view {
    std::uint32_t number;
    wait_record wait;
  };
  std::vector<thread_view> threads() const;  // that are there now

  // Changes whenever a thread has begun or ended to wait, and only then.
  std::uint64_t progress() const noexcept;

 private:
  // Atomics that one thread writes: relaxed, because a number orders nothing; a reader gets what was true a moment ago. The wait is
  // read whole because `turns` is odd while it changes.
  struct waited_for {
    std::atomic<wait_kind> what{wait_kind::nothing};
    std::atomic<std::uint64_t> object{0}, waits{0};
    std::atomic<const void*> address{nullptr}, caller{nullptr};
    std::atomic<base::nanoseconds> waited{0};
  };
  struct alignas(64) row {
    std::atomic<std::uint64_t> turns{0};
    std::atomic<std::uint64_t> thread{0};  // serial number of the thread whose it is
    std::atomic<std::uint32_t> number{0};
    std::atomic<bool> announced{false};  // by begin()
    std::atomic<observe::phase> in{phase::away};
    std::atomic<base::nanoseconds> since{0};  // when `in` began
    std::array<std::atomic<base::nanoseconds>, phases> spent{};
    std::atomic<std::uint64_t> shifts{0};
    std::atomic<wait_kind> what{wait_kind::nothing};
    std::atomic<std::uint64_t> object{0}, detail{0};
    std::atomic<const void*> address{nullptr}, caller{nullptr};
    std::atomic<base::nanoseconds> waiting_since{0};
    std::array<std::atomic<std::uint64_t>, events> counts{};
    std::array<waited_for, 8> contended{};
  };
  struct peer {
    std::atomic<std::uint64_t> fetched{0}, changed{0};
  };

  static void add(std::atomic<std::uint64_t>& to, std::uint64_t amount) noexcept {
    to.fetch_add(amount, std::memory_order_relaxed);
  }
  base::thread_identity caller() const { return from_.thread ? from_.thread(from_.context) : base::calling_thread(); }
  row* own_row(bool make) noexcept;
  static void waited(row& r, const wait_record& w, base::nanoseconds how_long) noexcept;
  static void shift(row& r, observe::phase to, base::nanoseconds now) noexcept;
  static double cost_of_shift();
  static void store(row& r, const wait_record& w, base::nanoseconds since) noexcept;
  static void load(const row& r, wait_record& into) noexcept;

  const source from_;
  std::atomic<bool> timed_;
  trace* trace_ = nullptr;
  std::unique_ptr<std::array<row, base::thread_slots>> rows_;
  std::vector<peer> traffic_;
  std::atomic<std::uint32_t> made_{0};    // rows ever given to a thread
  std::atomic<std::size_t> used_{0};      // slots below it: there may be a row. Relaxed, like what is in them
  std::atomic<std::uint64_t> served_{0};  // see times::served
  std::atomic<std::uint64_t> served_times_{0};
  std::atomic<base::nanoseconds> cost_{0};  // without the timing's

  mutable std::mutex epochs_lock_;  // guards what follows
  epoch_times epochs_;
  std::array<base::nanoseconds, phases> until_now_{};  // spent when the last epoch ended
  std::uint64_t met_ = 0;                              // barriers since the last of epochs_.spent began
};

// A phase of the calling thread, for as long as it lives. Without an activity, or if that is not timed, it does nothing.
class during {
 public:
  during(activity* a, observe::phase in) noexcept : activity_(a && a->timed() ? a : nullptr) {
    if (activity_) before_ = activity_->enter(in);
  }
  ~during() {
    if (activity_) activity_->leave(before_);
  }
  during(const during&) = delete;
  during& operator=(const during&) = delete;

 private:
  activity* const activity_;
  activity::place before_;
};

// An event of the calling thread, for as long as it lives. Without a trace it does nothing.
class span {
 public:
  span(const activity* a, trace_kind kind, std::uint64_t what = 0, std::uint32_t node = trace::nowhere,
       std::size_t amount = 0) noexcept
      : activity_(a && a->tracing() ? a : nullptr) {
    if (activity_) [[unlikely]]
      event_ = {a->now(), 0, what, static_cast<std::uint32_t>(amount), static_cast<std::uint16_t>(node), kind};
  }
  ~span() {
    if (!activity_) [[likely]]
      return;
    event_.lasted = activity_->now() - event_.begin;
    activity_->tracing()->add(activity_->slot(), event_);
  }
  span(const span&) = delete;
  span& operator=(const span&) = delete;

 private:
  const activity* const activity_;
  trace::event event_;
};

}  // namespace weft::observe
