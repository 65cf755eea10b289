// The program's use of the signals that page faults come by.
//
// weft has functions of its own in front of the C library's, so that a program may use signals as it always has:
//   sigaction, signal   a handler for SIGSEGV or SIGBUS, set at any time, gets the faults that are not weft's
//   pthread_sigmask, sigprocmask, and the mask of a handler   leave these two out: a thread that blocks them ends at its next page fault,
//                       and threads that block everything, so that another gets the signals, are common
#pragma once

namespace weft::runtime {

// For the thread that starts shared memory, and the threads that it starts: whoever started the program may have blocked them.
void let_faults_through() noexcept;

}  // namespace weft::runtime
