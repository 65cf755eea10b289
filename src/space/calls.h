// System calls on shared memory.
//
// The kernel does not wait for a page to be fetched: a call that meets a closed page ends with EFAULT, or short. That is so with both
// page engines, whatever the process may do: mprotect because the page is protected, uffd because SIGBUS delivery turns the kernel's
// own faults into errors. (A first write that the kernel only records is no such fault.) So weft has functions of its own in front of the
// C library's: each makes the pages of its buffers present, then calls the library's. A buffer elsewhere costs one comparison.
//
//   read pread readv preadv preadv2, write pwrite writev pwritev pwritev2, recv recvfrom recvmsg recvmmsg, send sendto sendmsg sendmmsg,
//   poll getrandom stat fstat lstat fstatat, and what these are called when compiled with _FORTIFY_SOURCE or for large files
//   fread fwrite: the library hands large buffers to its own read and write, past all of the above, so these go through a private buffer.
//   The rest of stdio copies by itself, or has looked for the end of a string before it passes it on. Streams of C++ use read and writev.
//
// Another thread that synchronises may close a page again before the kernel gets to it. A call that then fails is made again; one that
// had transferred something ends short, as any such call may. A datagram that was being received may be lost.
//
// Everything else (ioctl, paths, io_uring, ...) needs weft::touch.
#pragma once

#include <weft/detail/space.h>

namespace weft::runtime {

// The calls of this process have their buffers made present in `s` from now on; null: they are left alone.
void serve_calls(space* s) noexcept;

}  // namespace weft::runtime
