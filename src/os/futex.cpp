#include "os/futex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace weft::os {

// No FUTEX_PRIVATE_FLAG: the word may lie in memory that several processes map.
void futex_wait(futex_word& w, std::uint32_t seen, base::nanoseconds limit) noexcept {
  if (limit <= 0) return;
  const timespec t{limit / base::second, limit % base::second};
  syscall(SYS_futex, &w, FUTEX_WAIT, seen, &t, nullptr, 0);
}

void futex_wake(futex_word& w, int how_many) noexcept {
  syscall(SYS_futex, &w, FUTEX_WAKE, how_many, nullptr, nullptr, 0);
}

}  // namespace weft::os
