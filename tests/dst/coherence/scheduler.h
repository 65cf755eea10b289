// The scheduler of a simulated job: threads are fibers, time is a number, and what goes next is chosen by somebody else (chooser.h).
//
// What can go next is an actor: a thread that is ready, or a source of events (a network channel with something to deliver, a node's
// own work). A thread runs until it yields, waits or ends; an event runs on no fiber and so must not wait, just as a port's handlers.
//
// Every step takes a little time. When nothing can go on, time jumps to the next alarm; when there is none, the job is stuck.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <weft/port.h>

#include "base/clock.h"
#include "testbed/fiber.h"

namespace dst {

using weft::node_id;
using weft::base::nanoseconds;

using actor = std::uint32_t;
inline constexpr actor clock_actor = 0;  // chosen, it lets time pass to the next alarm

// Says what goes next.
class chooser {
 public:
  virtual ~chooser() = default;
  // An index into `ready`, which is in ascending order and not empty.
  virtual std::size_t choose(const std::vector<actor>& ready) = 0;
};

class scheduler {
 public:
  static constexpr nanoseconds never = INT64_MAX;

  struct options {
    node_id nodes = 1;
    nanoseconds step = 100;                                       // what a step takes
    nanoseconds impatience = 20 * weft::base::millisecond;        // so long may somebody be ready and not go on while time passes
    std::uint64_t most_idle_steps = 400'000;                      // without progress(): it is a livelock
    nanoseconds longest_silence = 600 * weft::base::millisecond;  // nobody does anything for longer, or all sleep for ever
  };
  scheduler(const options& o, chooser& by);

  // --- setting up -----------------------------------------------------------------------------------------------------------------

  actor add_thread(node_id node, std::string name, std::function<void()> body);

  // A source is silent until it is enabled, and `happen` is called each time that it is chosen. `held_by_pause` says whether a pause
  // of its node holds it up; null: never.
  actor add_source(node_id node, std::function<void()> happen, std::function<bool()> held_by_pause = nullptr);
  void enable(actor a) { set(a, true); }
  void disable(actor a) { set(a, false); }

  // Enables a source at a time; one alarm each.
  void alarm(actor a, nanoseconds when);

  // Until all threads have ended or something fails.
  void run();

  // --- in threads and events ------------------------------------------------------------------------------------------------------

  nanoseconds now() const noexcept { return now_; }

  // Lets others go on; nothing in an event.
  void yield();

  // Waits until the condition holds, which is asked again after every news() of the thread's node; false when `limit` has passed.
  // A wait of a second or more that has to be ended by its limit although its condition holds has missed its news: that fails.
  bool wait(weft::condition until, nanoseconds limit, const char* what);
  void news(node_id node);

  // The thread does nothing for so long; nothing in an event.
  void nap(nanoseconds length);

  // A node whose threads and handlers do nothing until then.
  void pause(node_id node, nanoseconds until) { paused_until_[node] = until; }

  // The program has come a step further.
  void doing(std::string what);  // the thread's step, for the report
  void progress() noexcept { idle_steps_ = 0, last_progress_ = now_; }

  // The first failure ends the run.
  void fail(const std::string& what);
  const std::optional<std::string>& failure() const noexcept { return failure_; }

  std::uint64_t steps() const noexcept { return steps_; }
  std::uint64_t hash() const noexcept { return hash_; }  // of everything that was chosen, and when

 private:
  struct thread {
    std::string name;
    std::unique_ptr<weft::testbed::fiber> fiber;
    bool waiting = false;
    const char* what = nullptr;  // it waits for
    std::string doing = "sets up";
  };
  struct entry {
    node_id node;
    std::unique_ptr<thread> as_thread;
    std::function<void()> happen;
    std::function<bool()> held_by_pause;
    nanoseconds alarm = never;
    nanoseconds ready_since = 0;
  };

  void set(actor a, bool ready);
  bool holds(actor a) const;
  void collect();
  nanoseconds longest_ready() const;
  bool alarm_is_close() const;
  bool time_passes();
  void ring(nanoseconds up_to);
  void step(actor a);
  void stuck(const char* how);
  void leave();
  void sleep(nanoseconds deadline, const char* what);  // until there is news for the running thread's node

  const options options_;
  chooser& chooser_;
  weft::testbed::fiber main_;
  std::deque<entry> actors_;
  std::vector<std::uint64_t> ready_;  // a bit an actor
  std::vector<actor> candidates_;
  std::vector<nanoseconds> paused_until_;  // by node
  std::vector<std::uint64_t> news_;        // by node: how often there was some
  std::vector<std::vector<actor>> threads_of_;
  std::set<std::pair<nanoseconds, actor>> alarms_;
  entry* running_ = nullptr;  // the thread
  actor running_actor_ = 0;
  std::size_t living_ = 0;
  nanoseconds now_ = 0, last_progress_ = 0;
  std::uint64_t steps_ = 0, idle_steps_ = 0, hash_ = 0xcbf29ce484222325u;
  std::optional<std::string> failure_;
};

}  // namespace dst
