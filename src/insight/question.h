// SIGUSR1 asks a node what it is doing. While one of these lives, the signal has `asked` called on a thread of its own, where anything
// may be done. A program that handles the signal itself keeps it.
#pragma once

#include <functional>
#include <thread>

#include "os/descriptor.h"

namespace weft::runtime {

class question {
 public:
  explicit question(std::function<void()> asked);
  ~question();
  question(const question&) = delete;
  question& operator=(const question&) = delete;

 private:
  void listen();

  std::function<void()> asked_;
  os::descriptor bell_;
  std::thread listener_;
};

}  // namespace weft::runtime
