#include "launch/reactor.h"

#include <poll.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace weft::launch {

void reactor::watch(int fd, short events, std::function<void()> ready) {
  watches_[fd] = {events, ++serial_, std::make_shared<std::function<void()>>(std::move(ready))};
}

void reactor::change(int fd, short events) {
  if (const auto found = watches_.find(fd); found != watches_.end()) found->second.events = events;
}

void reactor::forget(int fd) {
  watches_.erase(fd);
}

reactor::timer reactor::after(base::nanoseconds delay, std::function<void()> due) {
  const timer t = ++serial_;
  timers_[t] = {base::now() + delay, std::move(due)};
  return t;
}

void reactor::cancel(timer t) {
  timers_.erase(t);
}

int reactor::milliseconds_to_next_timer() const {
  if (timers_.empty()) return -1;
  auto next = timers_.begin()->second.due;
  for (const auto& [id, t] : timers_) next = std::min(next, t.due);
  const auto left = std::max<base::nanoseconds>(0, next - base::now());
  return static_cast<int>(std::min<base::nanoseconds>(left / base::millisecond + 1, 60'000));
}

void reactor::run_timers() {
  const auto now = base::now();
  std::vector<timer> due;
  for (const auto& [id, t] : timers_)
    if (t.due <= now) due.push_back(id);
  for (const auto id : due) {
    const auto found = timers_.find(id);
    if (found == timers_.end()) continue;  // cancelled by one that ran before it
    const auto call = std::move(found->second.call);
    timers_.erase(found);
    call();
  }
}

void reactor::turn() {
  std::vector<pollfd> polled;
  std::vector<std::uint64_t> serials;
  for (const auto& [fd, w] : watches_) {
    if (w.events == 0) continue;  // poll would report a hang-up even so
    polled.push_back({fd, w.events, 0});
    serials.push_back(w.serial);
  }
  ::poll(polled.data(), polled.size(), milliseconds_to_next_timer());
  for (std::size_t i = 0; i < polled.size(); ++i) {
    if (polled[i].revents == 0) continue;
    const auto found = watches_.find(polled[i].fd);
    if (found == watches_.end() || found->second.serial != serials[i] || found->second.events == 0) continue;
    const auto ready = found->second.ready;  // kept alive while it runs, should it forget itself
    (*ready)();
  }
  run_timers();
}

}  // namespace weft::launch
