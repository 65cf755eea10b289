#include "space/chore_thread.h"

#include <csignal>

namespace weft::runtime {

chore_thread::chore_thread() {
  sigset_t all, before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);  // the program's signals are for the program's threads
  thread_ = std::thread([this] { run(); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

chore_thread::~chore_thread() {
  {
    const std::scoped_lock guard(lock_);
    ending_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void chore_thread::add(std::function<void()> work) {
  {
    const std::scoped_lock guard(lock_);
    waiting_.push_back(std::move(work));
  }
  changed_.notify_one();
}

void chore_thread::run() {
  std::unique_lock held(lock_);
  while (true) {
    changed_.wait(held, [this] { return ending_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    const auto work = std::move(waiting_.front());
    waiting_.pop_front();
    held.unlock();
    work();
    held.lock();
  }
}

}  // namespace weft::runtime
