// Work that may wait, asked for where nobody may: handlers leave to it what needs the network.
#pragma once

#include <functional>

namespace weft::dsm {

class chores {
 public:
  // Ends when all that was added is done; nothing is added any more.
  virtual ~chores() = default;

  // Does `work` soon, on a thread of its own. Any thread, and handlers; does not wait.
  virtual void add(std::function<void()> work) = 0;
};

}  // namespace weft::dsm
