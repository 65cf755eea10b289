// The signal handler behind page engines and write trackers. It does three things: classify, call whoever the fault belongs to, return.
//
// A fault that belongs to nobody here goes to whoever handles the signal otherwise: the handler that was there before, or the one that
// the program has set since (program_sets_handler). If there is none, the program ends as it would have ended without weft: at the
// instruction that did it, with a core dump of that.
//
// The handler runs on the stack of the thread that faulted, not on an alternative one: those are sized for saying goodbye, not for
// fetching a page.
//
// Threads: any.
#pragma once

#include <csignal>
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

// Calls `target` for faults that raise `signal` (SIGBUS or SIGSEGV), after those that were set before.
status set_trap(int signal, trap_target& target);

// No thread may be in a fault of the target's any more.
void clear_trap(int signal, trap_target& target);

// sigaction() for a signal that is trapped: says and changes who gets the faults that belong to nobody here. False: the signal is not
// trapped, and nothing was done.
bool program_sets_handler(int signal, const struct sigaction* action, struct sigaction* old);

}  // namespace weft::os
