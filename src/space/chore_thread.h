// The thread that does a node's chores, one after another. It sleeps while there are none.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "dsm/chores.h"

namespace weft::runtime {

class chore_thread final : public dsm::chores {
 public:
  chore_thread();
  ~chore_thread() override;

  void add(std::function<void()> work) override;

 private:
  void run();

  std::mutex lock_;  // guards the next two
  std::deque<std::function<void()>> waiting_;
  bool ending_ = false;
  std::condition_variable changed_;  // add and the destructor end the thread's wait
  std::thread thread_;
};

}  // namespace weft::runtime
