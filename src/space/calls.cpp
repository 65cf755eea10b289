#undef _FORTIFY_SOURCE  // here the functions are defined, not called
#include "space/calls.h"

#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>

#include "os/next.h"
#include "space/region.h"

// What _FORTIFY_SOURCE makes of some calls: with the room that the compiler sees.
extern "C" {
ssize_t __read_chk(int, void*, size_t, size_t);
ssize_t __pread_chk(int, void*, size_t, off_t, size_t);
ssize_t __pread64_chk(int, void*, size_t, off64_t, size_t);
ssize_t __recv_chk(int, void*, size_t, size_t, int);
ssize_t __recvfrom_chk(int, void*, size_t, size_t, int, sockaddr*, socklen_t*);
int __poll_chk(pollfd*, nfds_t, int, size_t);
size_t __fread_chk(void*, size_t, size_t, size_t, FILE*);
size_t __fread_unlocked_chk(void*, size_t, size_t, size_t, FILE*);
}

namespace weft::runtime {
namespace {

std::atomic<space*> served{nullptr};

// How often a call is made that fails because of closed pages: before each time but the first, another thread has closed one again. A
// thread that does nothing but synchronise wins that race most of the time, but not thousands of times in a row.
constexpr int most_tries = 4096;

// What goes through a private buffer at a time.
constexpr std::size_t piece_bytes = 16 * 1024;

bool in_region(const void* at) {
  return reinterpret_cast<std::uintptr_t>(at) - reinterpret_cast<std::uintptr_t>(region_base) < region_bytes;
}

// --- making buffers present: each says whether there was anything shared ---------------------------------------------------------

bool present(const void* at, std::size_t size, bool written) {
  if (!in_region(at)) [[likely]]
    return false;
  space* s = served.load(std::memory_order_acquire);  // pairs with the release in serve_calls
  if (!s) return false;
  const int saved = errno;
  s->touch(at, size, written);
  errno = saved;
  return true;
}
bool filled(void* at, std::size_t size) {
  return present(at, size, true);
}
bool emptied(const void* at, std::size_t size) {
  return present(at, size, false);
}

// Whether any is so; all are evaluated.
template <typename... Each>
bool any(Each... shared) {
  return (shared || ...);
}

template <typename Count>
bool parts(const iovec* all, Count count, bool written) {
  const auto most = static_cast<std::size_t>(count);
  if (most > IOV_MAX) return false;  // the call refuses it
  bool shared = emptied(all, most * sizeof *all);
  for (std::size_t i = 0; i < most; ++i) shared |= present(all[i].iov_base, all[i].iov_len, written);
  return shared;
}

bool message_contents(const msghdr& m, bool written) {
  bool shared = present(m.msg_name, m.msg_namelen, written);
  shared |= present(m.msg_control, m.msg_controllen, written);
  return any(shared, parts(m.msg_iov, m.msg_iovlen, written));
}
bool message_filled(msghdr* m) {
  return any(filled(m, sizeof *m), message_contents(*m, true));
}
bool message_emptied(const msghdr* m) {
  return any(emptied(m, sizeof *m), message_contents(*m, false));
}

bool messages(mmsghdr* all, unsigned count, bool written) {
  bool shared = filled(all, count * sizeof *all);
  for (unsigned i = 0; i < count; ++i) shared |= message_contents(all[i].msg_hdr, written);
  return shared;
}

bool received_from(void* to, std::size_t size, sockaddr* from, socklen_t* length) {
  bool shared = filled(to, size);
  if (length) shared |= any(filled(length, sizeof *length), filled(from, *length));
  return shared;
}

// --- calling -----------------------------------------------------------------------------------------------------------------------

template <typename Prepare, typename Call>
auto with(Prepare prepare, Call call) {
  if (!prepare()) [[likely]]
    return call();
  for (int tries = 1;; ++tries) {
    const auto result = call();
    if (result != -1 || errno != EFAULT || tries == most_tries) return result;
    prepare();
  }
}

constinit os::next<std::size_t> next_fread("fread"), next_fread_unlocked("fread_unlocked"), next_fread_chk("__fread_chk"),
    next_fread_unlocked_chk("__fread_unlocked_chk"), next_fwrite("fwrite"), next_fwrite_unlocked("fwrite_unlocked");

// Items by way of a private buffer; how many were transferred.
template <typename Transfer>
std::size_t in_pieces(std::size_t size, std::size_t count, Transfer transfer) {
  char piece[piece_bytes];
  const std::size_t all = size * count;
  std::size_t done = 0;
  for (bool more = true; more && done < all;) {
    const std::size_t want = std::min(all - done, piece_bytes), moved = transfer(piece, done, want);
    more = moved == want;
    done += moved;
  }
  return size == 0 ? 0 : done / size;
}

std::size_t read_pieces(void* to, std::size_t size, std::size_t count, FILE* from) {
  return in_pieces(size, count, [&](char* piece, std::size_t at, std::size_t want) {
    const std::size_t got = next_fread_unlocked(static_cast<void*>(piece), std::size_t{1}, want, from);
    std::memcpy(static_cast<char*>(to) + at, piece, got);
    return got;
  });
}

std::size_t write_pieces(const void* from, std::size_t size, std::size_t count, FILE* to) {
  return in_pieces(size, count, [&](char* piece, std::size_t at, std::size_t want) {
    std::memcpy(piece, static_cast<const char*>(from) + at, want);
    return next_fwrite_unlocked(static_cast<const void*>(piece), std::size_t{1}, want, to);
  });
}

// The stream is the caller's alone for all of the pieces.
template <typename Transfer>
std::size_t locked(FILE* stream, Transfer transfer) {
  ::flockfile(stream);
  const std::size_t items = transfer();
  ::funlockfile(stream);
  return items;
}

}  // namespace

void serve_calls(space* s) noexcept {
  served.store(s, std::memory_order_release);
}

// --- the calls: result, name, parameters, what is made present, arguments --------------------------------------------------------

#define WEFT_CALL(type, name, parameters, prepare, ...)                             \
  namespace {                                                                       \
  constinit os::next<type> next_##name(#name);                                      \
  }                                                                                 \
  extern "C" type name parameters {                                                 \
    return with([&] { return prepare; }, [&] { return next_##name(__VA_ARGS__); }); \
  }

WEFT_CALL(ssize_t, read, (int fd, void* to, size_t size), filled(to, size), fd, to, size)
WEFT_CALL(ssize_t, pread, (int fd, void* to, size_t size, off_t at), filled(to, size), fd, to, size, at)
WEFT_CALL(ssize_t, pread64, (int fd, void* to, size_t size, off64_t at), filled(to, size), fd, to, size, at)
WEFT_CALL(ssize_t, __read_chk, (int fd, void* to, size_t size, size_t room), filled(to, size), fd, to, size, room)
WEFT_CALL(ssize_t, __pread_chk, (int fd, void* to, size_t size, off_t at, size_t room), filled(to, size), fd, to, size, at, room)
WEFT_CALL(ssize_t, __pread64_chk, (int fd, void* to, size_t size, off64_t at, size_t room), filled(to, size), fd, to, size, at,
          room)
WEFT_CALL(ssize_t, readv, (int fd, const iovec* all, int n), parts(all, n, true), fd, all, n)
WEFT_CALL(ssize_t, preadv, (int fd, const iovec* all, int n, off_t at), parts(all, n, true), fd, all, n, at)
WEFT_CALL(ssize_t, preadv64, (int fd, const iovec* all, int n, off64_t at), parts(all, n, true), fd, all, n, at)
WEFT_CALL(ssize_t, preadv2, (int fd, const iovec* all, int n, off_t at, int how), parts(all, n, true), fd, all, n, at, how)
WEFT_CALL(ssize_t, preadv64v2, (int fd, const iovec* all, int n, off64_t at, int how), parts(all, n, true), fd, all, n, at, how)

WEFT_CALL(ssize_t, write, (int fd, const void* from, size_t size), emptied(from, size), fd, from, size)
WEFT_CALL(ssize_t, pwrite, (int fd, const void* from, size_t size, off_t at), emptied(from, size), fd, from, size, at)
WEFT_CALL(ssize_t, pwrite64, (int fd, const void* from, size_t size, off64_t at), emptied(from, size), fd, from, size, at)
WEFT_CALL(ssize_t, writev, (int fd, const iovec* all, int n), parts(all, n, false), fd, all, n)
WEFT_CALL(ssize_t, pwritev, (int fd, const iovec* all, int n, off_t at), parts(all, n, false), fd, all, n, at)
WEFT_CALL(ssize_t, pwritev64, (int fd, const iovec* all, int n, off64_t at), parts(all, n, false), fd, all, n, at)
WEFT_CALL(ssize_t, pwritev2, (int fd, const iovec* all, int n, off_t at, int how), parts(all, n, false), fd, all, n, at, how)
WEFT_CALL(ssize_t, pwritev64v2, (int fd, const iovec* all, int n, off64_t at, int how), parts(all, n, false), fd, all, n, at, how)

WEFT_CALL(ssize_t, recv, (int fd, void* to, size_t size, int how), filled(to, size), fd, to, size, how)
WEFT_CALL(ssize_t, __recv_chk, (int fd, void* to, size_t size, size_t room, int how), filled(to, size), fd, to, size, room, how)
WEFT_CALL(ssize_t, recvfrom, (int fd, void* to, size_t size, int how, sockaddr* from, socklen_t* length),
          received_from(to, size, from, length), fd, to, size, how, from, length)
WEFT_CALL(ssize_t, __recvfrom_chk, (int fd, void* to, size_t size, size_t room, int how, sockaddr* from, socklen_t* length),
          received_from(to, size, from, length), fd, to, size, room, how, from, length)
WEFT_CALL(ssize_t, recvmsg, (int fd, msghdr* m, int how), message_filled(m), fd, m, how)
WEFT_CALL(int, recvmmsg, (int fd, mmsghdr* all, unsigned n, int how, timespec* limit),
          any(messages(all, n, true), filled(limit, sizeof *limit)), fd, all, n, how, limit)

WEFT_CALL(ssize_t, send, (int fd, const void* from, size_t size, int how), emptied(from, size), fd, from, size, how)
WEFT_CALL(ssize_t, sendto, (int fd, const void* from, size_t size, int how, const sockaddr* to, socklen_t length),
          any(emptied(from, size), emptied(to, length)), fd, from, size, how, to, length)
WEFT_CALL(ssize_t, sendmsg, (int fd, const msghdr* m, int how), message_emptied(m), fd, m, how)
WEFT_CALL(int, sendmmsg, (int fd, mmsghdr* all, unsigned n, int how), messages(all, n, false), fd, all, n, how)

WEFT_CALL(int, poll, (pollfd * all, nfds_t n, int limit), filled(all, n * sizeof *all), all, n, limit)
WEFT_CALL(int, __poll_chk, (pollfd * all, nfds_t n, int limit, size_t room), filled(all, n * sizeof *all), all, n, limit, room)
WEFT_CALL(ssize_t, getrandom, (void* to, size_t size, unsigned how), filled(to, size), to, size, how)

WEFT_CALL(int, stat, (const char* path, struct stat* to) noexcept, filled(to, sizeof *to), path, to)
WEFT_CALL(int, stat64, (const char* path, struct stat64* to) noexcept, filled(to, sizeof *to), path, to)
WEFT_CALL(int, lstat, (const char* path, struct stat* to) noexcept, filled(to, sizeof *to), path, to)
WEFT_CALL(int, lstat64, (const char* path, struct stat64* to) noexcept, filled(to, sizeof *to), path, to)
WEFT_CALL(int, fstat, (int fd, struct stat* to) noexcept, filled(to, sizeof *to), fd, to)
WEFT_CALL(int, fstat64, (int fd, struct stat64* to) noexcept, filled(to, sizeof *to), fd, to)
WEFT_CALL(int, fstatat, (int fd, const char* path, struct stat* to, int how) noexcept, filled(to, sizeof *to), fd, path, to, how)
WEFT_CALL(int, fstatat64, (int fd, const char* path, struct stat64* to, int how) noexcept, filled(to, sizeof *to), fd, path, to,
          how)

// --- stdio -------------------------------------------------------------------------------------------------------------------------

extern "C" size_t fread_unlocked(void* to, size_t size, size_t count, FILE* from) {
  return in_region(to) ? read_pieces(to, size, count, from) : next_fread_unlocked(to, size, count, from);
}
extern "C" size_t __fread_unlocked_chk(void* to, size_t room, size_t size, size_t count, FILE* from) {
  const bool fits = size * count <= room;
  return in_region(to) && fits ? read_pieces(to, size, count, from) : next_fread_unlocked_chk(to, room, size, count, from);
}
extern "C" size_t fread(void* to, size_t size, size_t count, FILE* from) {
  if (!in_region(to)) return next_fread(to, size, count, from);
  return locked(from, [&] { return read_pieces(to, size, count, from); });
}
extern "C" size_t __fread_chk(void* to, size_t room, size_t size, size_t count, FILE* from) {
  if (!in_region(to) || size * count > room) return next_fread_chk(to, room, size, count, from);
  return locked(from, [&] { return read_pieces(to, size, count, from); });
}
extern "C" size_t fwrite_unlocked(const void* from, size_t size, size_t count, FILE* to) {
  return in_region(from) ? write_pieces(from, size, count, to) : next_fwrite_unlocked(from, size, count, to);
}
extern "C" size_t fwrite(const void* from, size_t size, size_t count, FILE* to) {
  if (!in_region(from)) return next_fwrite(from, size, count, to);
  return locked(to, [&] { return write_pieces(from, size, count, to); });
}

}  // namespace weft::runtime
