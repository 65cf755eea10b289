// The signal handler behind a page engine. It does three things: classify, call the engine's handler, return.
//
// A fault outside the view goes to whoever handled the signal before, or ends the program as it would have ended without weft: at
// the instruction that did it, with a core dump of that.
#pragma once

#include <cstddef>

#include <weft/status.h>

namespace weft::os {

class trap_target {
 public:
  // Whether the fault was this one's business; if so, it has been dealt with.
  virtual bool on_trap(void* address, bool write) = 0;

 protected:
  ~trap_target() = default;
};

// Catches `signal` (SIGBUS or SIGSEGV) for `target`. One target at a time in a process.
status set_trap(int signal, trap_target& target);
void clear_trap();

}  // namespace weft::os
