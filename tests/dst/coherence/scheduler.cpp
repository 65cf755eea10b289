#include "dst/coherence/scheduler.h"

#include <algorithm>
#include <bit>

#include "base/text.h"

namespace dst {

using weft::base::format;

scheduler::scheduler(const options& o, chooser& by)
    : options_(o), chooser_(by), paused_until_(o.nodes), news_(o.nodes), threads_of_(o.nodes) {
  // clock_actor. The step to it may have rung the alarm that made it a candidate; the next one may be too far away.
  add_source(0, [this] {
    if (alarm_is_close()) time_passes();
  });
}

actor scheduler::add_thread(node_id node, std::string name, std::function<void()> body) {
  const auto a = static_cast<actor>(actors_.size());
  auto t = std::make_unique<thread>();
  t->name = std::move(name);
  t->fiber = std::make_unique<weft::testbed::fiber>(
      [this, run = std::move(body)] {
        run();
        --living_;
        set(running_actor_, false);
      },
      main_);
  actors_.push_back({node, std::move(t), nullptr, nullptr});
  ready_.resize(actors_.size() / 64 + 1);
  threads_of_[node].push_back(a);
  ++living_;
  set(a, true);
  return a;
}

actor scheduler::add_source(node_id node, std::function<void()> happen, std::function<bool()> held_by_pause) {
  actors_.push_back({node, nullptr, std::move(happen), std::move(held_by_pause)});
  ready_.resize(actors_.size() / 64 + 1);
  return static_cast<actor>(actors_.size() - 1);
}

void scheduler::set(actor a, bool ready) {
  const auto bit = std::uint64_t{1} << a % 64;
  if (ready && !(ready_[a / 64] & bit)) actors_[a].ready_since = now_;
  ready ? ready_[a / 64] |= bit : ready_[a / 64] &= ~bit;
}

void scheduler::alarm(actor a, nanoseconds when) {
  entry& e = actors_[a];
  if (e.alarm == when) return;
  if (e.alarm != never) alarms_.erase({e.alarm, a});
  e.alarm = when;
  if (when != never) alarms_.insert({when, a});
}

// --- running ----------------------------------------------------------------------------------------------------------------------

bool scheduler::holds(actor a) const {
  const entry& e = actors_[a];
  return paused_until_[e.node] > now_ && (e.as_thread || (e.held_by_pause && e.held_by_pause()));
}

void scheduler::collect() {
  candidates_.clear();
  for (std::size_t w = 0; w < ready_.size(); ++w)
    for (std::uint64_t left = ready_[w]; left != 0; left &= left - 1) {
      const auto a = static_cast<actor>(w * 64 + static_cast<std::size_t>(std::countr_zero(left)));
      if (!holds(a)) candidates_.push_back(a);
    }
}

// Since when the one that is ready and has not gone on for longest is.
nanoseconds scheduler::longest_ready() const {
  nanoseconds since = now_;
  for (const actor a : candidates_) since = std::min(since, std::max(actors_[a].ready_since, paused_until_[actors_[a].node]));
  return since;
}

bool scheduler::alarm_is_close() const {
  return !alarms_.empty() && alarms_.begin()->first - longest_ready() <= options_.impatience;
}

// Time goes to the next alarm or the end of the next pause.
bool scheduler::time_passes() {
  nanoseconds next = alarms_.empty() ? never : alarms_.begin()->first;
  for (const auto until : paused_until_)
    if (until > now_) next = std::min(next, until);
  if (next == never || next - now_ > options_.longest_silence) return false;
  ring(std::max(next, now_));
  return true;
}

void scheduler::ring(nanoseconds up_to) {
  now_ = up_to;
  while (!alarms_.empty() && alarms_.begin()->first <= now_) {
    const actor a = alarms_.begin()->second;
    alarm(a, never);
    set(a, true);
  }
}

void scheduler::run() {
  while (living_ != 0 && !failure_) {
    collect();
    if (!candidates_.empty() && alarm_is_close()) candidates_.insert(candidates_.begin(), clock_actor);
    if (candidates_.empty()) {
      if (!time_passes()) return stuck("nobody can go on");
    } else {
      step(candidates_[candidates_.size() == 1 ? 0 : chooser_.choose(candidates_)]);
    }
    if (++idle_steps_ > options_.most_idle_steps) return stuck("no thread has come further for very many steps");
  }
}

void scheduler::step(actor a) {
  ++steps_;
  ring(now_ + options_.step);
  hash_ = (hash_ ^ a ^ static_cast<std::uint64_t>(now_) << 12) * 0x100000001b3u;
  hash_ ^= hash_ >> 29;
  entry& e = actors_[a];
  e.ready_since = now_;
  if (!e.as_thread) return e.happen();
  running_ = &e;
  running_actor_ = a;
  main_.switch_to(*e.as_thread->fiber);
  running_ = nullptr;
}

void scheduler::stuck(const char* how) {
  std::string text = format("%s at %.3f ms:", how, static_cast<double>(now_) / 1e6);
  for (const auto& e : actors_)
    if (e.as_thread && !e.as_thread->fiber->finished())
      text += format("\n    %s %s: %s", e.as_thread->name.c_str(), e.as_thread->waiting ? e.as_thread->what : "could run",
                     e.as_thread->doing.c_str());
  fail(text);
}

void scheduler::fail(const std::string& what) {
  if (!failure_) failure_ = what;
}

// --- in threads -------------------------------------------------------------------------------------------------------------------

// A run that has failed continues no thread.
void scheduler::leave() {
  running_->as_thread->fiber->switch_to(main_);
}

void scheduler::yield() {
  if (running_) leave();
}

void scheduler::nap(nanoseconds length) {
  if (running_) wait([] { return false; }, length, "is not given a processor");
}

void scheduler::sleep(nanoseconds deadline, const char* what) {
  entry& self = *running_;
  const actor a = running_actor_;
  set(a, false);
  alarm(a, deadline);
  self.as_thread->waiting = true;
  self.as_thread->what = what;
  leave();
  self.as_thread->waiting = false;
  alarm(a, never);
}

bool scheduler::wait(weft::condition until, nanoseconds limit, const char* what) {
  entry& self = *running_;
  const nanoseconds deadline = limit > never - now_ ? never : now_ + limit;
  std::uint64_t seen = news_[self.node];
  while (!until()) {
    if (now_ >= deadline) return false;
    if (std::exchange(seen, news_[self.node]) != seen) continue;  // news while the condition was asked
    sleep(deadline, what);
    if (news_[self.node] == seen && limit >= weft::base::second && until()) {
      // Whoever has made it true says so next, but time may pass before it does, even some alarms.
      for (int again = 0; again < 10 && news_[self.node] == seen; ++again) sleep(now_ + 100 * weft::base::millisecond, what);
      if (news_[self.node] != seen) return true;
      fail(format("%s slept through its news: %s", self.as_thread->name.c_str(), what));
      leave();
    }
    seen = news_[self.node];
  }
  return true;
}

void scheduler::doing(std::string what) {
  running_->as_thread->doing = std::move(what);
}

void scheduler::news(node_id node) {
  ++news_[node];
  for (const actor a : threads_of_[node])
    if (actors_[a].as_thread->waiting) set(a, true);
}

}  // namespace dst
