#include "vmmc/notifier.h"

#include "vmmc/exports.h"
#include "vmmc/own_handlers.h"

namespace weft::communication {

namespace {

// A sender hears at the latest after so many that it may go on.
constexpr std::uint32_t report_after = imported::most_unread / 4;

}  // namespace

bool notifier::push(std::shared_ptr<export_record> of, const notification& what) {
  std::scoped_lock lock(lock_);
  if (stopping_) return true;
  if (waiting_[what.source] >= imported::most_unread) return false;
  ++waiting_[what.source];
  queue_.push_back({std::move(of), what});
  if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
  changed_.notify_all();
  return true;
}

void notifier::block() {
  std::unique_lock lock(lock_);
  blocked_ = true;
  if (std::this_thread::get_id() != thread_.get_id()) changed_.wait(lock, [&] { return !running_; });
}

void notifier::unblock() {
  std::scoped_lock lock(lock_);
  blocked_ = false;
  changed_.notify_all();
}

// One of `source` is done with. The sender is told every so often, and when nothing of it is left, so that it never waits in vain.
void notifier::over(node_id source, std::unique_lock<std::mutex>& held) {
  --waiting_[source];
  if (++unreported_[source] < report_after && waiting_[source] > 0) return;
  const word words[] = {std::exchange(unreported_[source], 0)};
  held.unlock();
  port_.send(source, lane::reply, own::notified, words).ignore();  // a node that cannot be told sends no more
  held.lock();
}

void notifier::forget(const export_record* of) {
  std::unique_lock lock(lock_);
  for (std::size_t i = 0; i < queue_.size();) {
    if (queue_[i].of.get() != of) {
      ++i;
      continue;
    }
    const node_id source = queue_[i].what.source;
    queue_.erase(queue_.begin() + static_cast<std::ptrdiff_t>(i));
    over(source, lock);
    i = 0;  // the queue may have changed meanwhile
  }
  if (std::this_thread::get_id() != thread_.get_id()) changed_.wait(lock, [&] { return running_ != of; });
}

void notifier::work() {
  std::unique_lock lock(lock_);
  while (true) {
    changed_.wait(lock, [&] { return stopping_ || (!blocked_ && !queue_.empty()); });
    if (stopping_) return;
    const item next = std::move(queue_.front());
    queue_.pop_front();
    running_ = next.of.get();
    lock.unlock();
    next.of->options.on_notification(next.what);
    lock.lock();
    running_ = nullptr;
    changed_.notify_all();
    over(next.what.source, lock);
  }
}

void notifier::stop() {
  {
    std::scoped_lock lock(lock_);
    stopping_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

}  // namespace weft::communication
