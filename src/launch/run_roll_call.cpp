// The launcher's roll-call: asks all nodes what their threads do, and prints it when somebody wants to know. With --stall-after it asks
// again and again by itself, and ends a job in which nobody gets on.
#include <algorithm>

#include "base/text.h"
#include "terminal/complain.h"
#include "launch/launcher.h"
#include "join/words.h"

namespace weft::launch {

namespace {

// A node answers by a thread that does nothing else, so one that does not is stopped, or its machine is very busy.
constexpr base::nanoseconds patience_for_answers = base::second;

constexpr base::nanoseconds most_between_looks = base::second, least_between_looks = 20 * base::millisecond;

}  // namespace

// Often enough to notice a stall a quarter late at most.
void run_launcher::watch_progress() {
  call_roll();
  loop_.after(std::clamp(plan_.stall_after / 4, least_between_looks, most_between_looks), [this] { watch_progress(); });
}

void run_launcher::call_roll() {
  if (roll_.open) return;  // whoever asks now is told with the others
  roll_.open = true;
  ++roll_.round;
  roll_.answers.clear();
  for (std::uint32_t n = 0; n < nodes_.size(); ++n) {
    const auto& node = nodes_[n];
    roll_.answers.push_back({n,
                             {},
                             node.exited   ? "has ended"
                             : node.left   ? "has left the job"
                             : node.joined ? "does not answer: it is stopped, or its machine is overloaded"
                                           : "has not joined the job"});
  }
  if (!anybody_listens()) return conclude_roll();
  to_all(control::roll_call{roll_.round});
  roll_.limit = loop_.after(patience_for_answers, [this] { conclude_roll(); });
}

void run_launcher::node_present(control::presence&& m) {
  if (!roll_.open || m.round != roll_.round) return;
  roll_.answers[m.node].here = std::move(m);
  for (std::uint32_t n = 0; n < nodes_.size(); ++n)
    if (nodes_[n].joined && !nodes_[n].left && !nodes_[n].exited && !roll_.answers[n].here) return;
  conclude_roll();
}

void run_launcher::conclude_roll() {
  loop_.cancel(roll_.limit);
  roll_.open = false;
  const bool ends = plan_.stall_after > 0 && !verdict_ && stalled();
  if (ends || std::exchange(roll_.to_be_told, false))
    for (const auto& line : runtime::tell_roll(roll_.answers)) terminal::complain("roll-call: " + line);
  if (ends && decide(terminal::status_failed, "the job made no progress for " + runtime::describe_duration(plan_.stall_after) +
                                                  ", its --stall-after, and was ended; the roll-call tells who waits for what"))
    bring_down();
}

// No thread of any node has begun or ended to wait for so long, and at least one waits.
bool run_launcher::stalled() {
  std::vector<std::uint64_t> now(nodes_.size());
  bool waiting = false;
  for (std::uint32_t n = 0; n < nodes_.size(); ++n) {
    const auto& here = roll_.answers[n].here;
    now[n] = here ? here->progress : n < progress_.size() ? progress_[n] : 0;  // who does not answer does not get on
    if (here) waiting |= std::any_of(here->threads.begin(), here->threads.end(), [](const auto& t) { return t.waits_for != 0; });
  }
  if (now != progress_ || !waiting) moved_ = base::now();
  progress_ = std::move(now);
  return base::now() - moved_ >= plan_.stall_after;
}

}  // namespace weft::launch
