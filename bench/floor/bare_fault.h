// What a page fault costs that a signal handler takes, by itself: the floor under a page engine.
//
// A range of pages that are all closed is read page by page. Three ways for the read to succeed:
//   trapped    the handler points the register that held the address at a byte elsewhere, so that the repeated access succeeds: the
//              delivery of the signal and the return from it, and nothing else. What "bare fault trap" means in the reports.
//   continued  the handler makes the page accessible with UFFDIO_CONTINUE, the cheapest that userfaultfd has.
//   protected  the handler makes it accessible with mprotect, the cheapest that protections have.
// A trap is of the kind that the best engine here takes: SIGBUS of userfaultfd, or SIGSEGV where there is none.
//
// While faults are taken, the signal's handler is this one, so no other thread of the process may fault meanwhile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "os/memory_file.h"

namespace weft::bench {

enum class resolution { trapped, continued, protected_again };

class bare_faults {
 public:
  explicit bare_faults(std::size_t pages);

  // Nanoseconds for reading these pages once, in this order. Throws weft::error where there is no such way.
  double take(resolution by, std::span<const std::uint32_t> pages);

 private:
  os::unique_fd file_, faults_;
  os::mapping frames_;  // never faults
  os::mapping caught_;  // registered with userfaultfd, if there is one
  os::mapping denied_;  // without any rights
};

}  // namespace weft::bench
