#include "vmmc/bound_memory.h"

#include <algorithm>

#include "vmmc/updater.h"

namespace weft::communication {

status bound_memory::flush() {
  return pass(true);
}

void bound_memory::flush_in_background() {
  auto outcome = pass(false);
  if (outcome.ok()) return;
  std::scoped_lock lock(lock_);
  if (failure_.ok()) failure_ = std::move(outcome);
}

status bound_memory::pass(bool own_thread) {
  if (passing_.load(std::memory_order_relaxed) == std::this_thread::get_id())  // relaxed: it is either ours or not
    return {errc::would_block, "a handler that runs inside a flush cannot flush the same binding"};
  std::scoped_lock lock(lock_);
  passing_.store(std::this_thread::get_id(), std::memory_order_relaxed);
  auto failure = std::exchange(failure_, status());
  runs_.clear();
  if (!ended_) collect(runs_, own_thread);
  auto sent = send(runs_);
  passing_.store({}, std::memory_order_relaxed);
  return failure.ok() ? std::move(sent) : std::move(failure);
}

// Without combining every word travels by itself, as a store did on SHRIMP's bus (4.5.1).
status bound_memory::send(std::span<run> runs) {
  if (runs.empty()) return {};
  ++statistics_.passes;
  for (run& r : runs) {
    r.offset += offset_;
    statistics_.bytes += r.data.size();
  }
  if (options_.combining) {
    statistics_.runs += runs.size();
    return to_.update_scattered(runs);
  }
  for (const run& r : runs)
    for (std::size_t at = 0; at < r.data.size(); at += sizeof(word)) {
      ++statistics_.runs;
      if (auto sent = to_.update(r.offset + at, r.data.subspan(at, std::min(sizeof(word), r.data.size() - at))); !sent) return sent;
    }
  return {};
}

// Somebody who flushes at this moment may keep the object for longer.
status bound_memory::unbind() {
  updater_.forget(*this);
  auto flushed = flush();
  if (!flushed && flushed.code() == errc::would_block)
    return flushed;  // in a handler of this binding's own pass, which holds the lock
  std::scoped_lock lock(lock_);
  ended_ = true;
  end();
  return flushed;
}

binding_statistics bound_memory::statistics() const {
  std::scoped_lock lock(lock_);
  return statistics_;
}

}  // namespace weft::communication
