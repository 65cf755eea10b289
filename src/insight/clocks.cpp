#include "insight/clocks.h"

#include <atomic>
#include <chrono>
#include <memory>

namespace weft::runtime {

namespace {

enum : handler_id { ask_time = 60, tell_time = 61 };  // of the runtime's own, below first_user_handler

constexpr int times_asked = 100;  // the quickest answer counts, and one must come through a busy machine undisturbed

struct answer {
  std::atomic<base::nanoseconds> time{0};  // set once by the handler, with release: pairs with the acquire of whoever waits
};

}  // namespace

clocks::clocks(port& p) : port_(p) {
  p.on(ask_time, [](const message& m) {
    const word words[] = {m.words[0], static_cast<word>(base::now())};
    if (m.words.size() == 1) m.at.send(m.source, lane::reply, tell_time, words).ignore();  // who is gone needs no answer
  });
  p.on(tell_time, [](const message& m) {
    if (m.words.size() == 2)
      reinterpret_cast<answer*>(m.words[0])->time.store(static_cast<base::nanoseconds>(m.words[1]), std::memory_order_release);
  });
}

result<clocks::measurement> clocks::measure() {
  base::nanoseconds quickest = INT64_MAX, difference = 0;
  for (int i = 0; i < times_asked; ++i) {
    auto a = std::make_unique<answer>();
    const word words[] = {reinterpret_cast<word>(a.get())};
    const auto asked = base::now();
    if (auto sent = port_.send(0, lane::request, ask_time, words); !sent) return sent;
    if (auto waited = port_.wait([&] { return a->time.load(std::memory_order_acquire) != 0; }, port_.patience()); !waited) {
      (void)a.release();  // the answer may still come
      return waited;
    }
    const auto answered = base::now();
    if (answered - asked >= quickest) continue;
    quickest = answered - asked;
    difference = a->time.load(std::memory_order_relaxed) - (asked + quickest / 2);
  }
  return measurement{difference, quickest / 2};
}

base::nanoseconds clock_difference::corrected(base::nanoseconds at) const {
  if (last_at <= first_at) return at + first;
  const double share = static_cast<double>(at - first_at) / static_cast<double>(last_at - first_at);
  return at + first + static_cast<base::nanoseconds>(share * static_cast<double>(last - first));
}

}  // namespace weft::runtime
