// A node that hands shared memory to system calls: pages that another node has written meanwhile, so that they are closed here.
#include <weft/weft.h>

#include <fcntl.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t most = 64 * 1024 + 100;  // not whole pages
using chars = std::span<char>;

void check(bool holds, const std::string& what) {
  if (holds) return;
  std::fprintf(stderr, "node %u: %s (%s)\n", weft::space::here().self(), what.c_str(), std::strerror(errno));
  std::exit(1);
}

std::string text(char first) {
  std::string t(most, ' ');
  for (std::size_t i = 0; i < most; ++i) t[i] = static_cast<char>(first + i % 23);
  return t;
}

// An open file without a name.
struct scratch_file {
  explicit scratch_file(const std::string& contents = {}) {
    check(::pwrite(fd, contents.data(), contents.size(), 0) == static_cast<ssize_t>(contents.size()),
          "a file that cannot be written");
  }
  ~scratch_file() { ::close(fd); }
  std::string contents() const {
    std::string all(2 * most, ' ');
    const auto got = ::pread(fd, all.data(), all.size(), 0);
    return all.substr(0, static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  }
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd); }
  int fd = ::open(".", O_TMPFILE | O_RDWR, 0600);
};

// A pair of sockets, with something on its way in it.
struct connection {
  explicit connection(int type = SOCK_STREAM) { check(::socketpair(AF_UNIX, type, 0, ends) == 0, "no pair of sockets"); }
  ~connection() { ::close(ends[0]), ::close(ends[1]); }
  int ends[2];
};

iovec part(chars c) {
  return {c.data(), c.size()};
}

// Every way brings all of `contents` into `to`; says how much it claims to have brought.
using reader = std::function<ssize_t(chars to, const std::string& contents)>;
using writer = std::function<ssize_t(chars from, int fd)>;

template <typename Receive>
reader by_socket(Receive receive) {
  return [receive](chars to, const std::string& contents) {
    connection c(SOCK_SEQPACKET);
    const int room = 4 * most;
    ::setsockopt(c.ends[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    check(::send(c.ends[0], contents.data(), contents.size(), 0) == static_cast<ssize_t>(contents.size()),
          "a message that does not fit");
    return static_cast<ssize_t>(receive(c.ends[1], to));
  };
}

template <typename Read>
reader by_file(Read read) {
  return [read](chars to, const std::string& contents) {
    scratch_file f(contents);
    return static_cast<ssize_t>(read(f, to));
  };
}

template <typename Send>
writer by_message(Send send) {
  return [send](chars from, int fd) {
    connection c(SOCK_SEQPACKET);
    const int room = 4 * most;
    ::setsockopt(c.ends[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    const auto sent = static_cast<ssize_t>(send(c.ends[0], from));
    std::string got(2 * most, ' ');
    const auto arrived = ::recv(c.ends[1], got.data(), got.size(), 0);
    check(::write(fd, got.data(), static_cast<std::size_t>(std::max<ssize_t>(arrived, 0))) == arrived,
          "a file that cannot be written");
    return sent;
  };
}

template <typename T>
struct named {
  const char* name;
  T way;
};

const named<reader> readers[] = {
    {"read", by_file([](auto& f, chars to) { return ::read(f.fd, to.data(), to.size()); })},
    {"pread", by_file([](auto& f, chars to) { return ::pread(f.fd, to.data(), to.size(), 0); })},
    {"readv", by_file([](auto& f, chars to) {
       iovec all[] = {part(to.first(5000)), part(to.subspan(5000))};
       return ::readv(f.fd, all, 2);
     })},
    {"preadv", by_file([](auto& f, chars to) {
       iovec all[] = {part(to.first(1)), part(to.subspan(1))};
       return ::preadv(f.fd, all, 2, 0);
     })},
    {"fread", by_file([](auto& f, chars to) {
       FILE* s = ::fopen(f.path().c_str(), "r");
       const auto got = std::fread(to.data(), 1, to.size(), s);
       std::fclose(s);
       return got;
     })},
    {"ifstream", by_file([](auto& f, chars to) {
       std::ifstream s(f.path());
       s.read(to.data(), static_cast<std::streamsize>(to.size()));
       return s.gcount();
     })},
    {"recv", by_socket([](int fd, chars to) { return ::recv(fd, to.data(), to.size(), 0); })},
    {"recvfrom", by_socket([](int fd, chars to) { return ::recvfrom(fd, to.data(), to.size(), 0, nullptr, nullptr); })},
    {"recvmsg", by_socket([](int fd, chars to) {
       iovec all = part(to);
       msghdr m{};
       m.msg_iov = &all;
       m.msg_iovlen = 1;
       return ::recvmsg(fd, &m, 0);
     })},
    {"recvmmsg", by_socket([](int fd, chars to) {
       iovec all = part(to);
       mmsghdr m{};
       m.msg_hdr.msg_iov = &all;
       m.msg_hdr.msg_iovlen = 1;
       return ::recvmmsg(fd, &m, 1, 0, nullptr) == 1 ? static_cast<ssize_t>(m.msg_len) : -1;
     })},
};

const named<writer> writers[] = {
    {"write", [](chars from, int fd) { return ::write(fd, from.data(), from.size()); }},
    {"pwrite", [](chars from, int fd) { return ::pwrite(fd, from.data(), from.size(), 0); }},
    {"writev",
     [](chars from, int fd) {
       iovec all[] = {part(from.first(9000)), part(from.subspan(9000))};
       return ::writev(fd, all, 2);
     }},
    {"pwritev",
     [](chars from, int fd) {
       iovec all[] = {part(from.first(9000)), part(from.subspan(9000))};
       return ::pwritev(fd, all, 2, 0);
     }},
    {"fwrite",
     [](chars from, int fd) {
       FILE* s = ::fdopen(::dup(fd), "w");
       const auto put = std::fwrite(from.data(), 1, from.size(), s);
       std::fclose(s);
       return static_cast<ssize_t>(put);
     }},
    {"ofstream",
     [](chars from, int fd) {
       std::ofstream s("/proc/self/fd/" + std::to_string(fd));
       s.write(from.data(), static_cast<std::streamsize>(from.size()));
       return static_cast<ssize_t>(s.good() ? from.size() : 0);
     }},
    {"fprintf",
     [](chars from, int fd) {
       FILE* s = ::fdopen(::dup(fd), "w");
       const auto put = std::fprintf(s, "%s", from.data());  // there is a zero behind
       std::fclose(s);
       return static_cast<ssize_t>(put);
     }},
    {"send", by_message([](int fd, chars from) { return ::send(fd, from.data(), from.size(), 0); })},
    {"sendto", by_message([](int fd, chars from) { return ::sendto(fd, from.data(), from.size(), 0, nullptr, 0); })},
    {"sendmsg", by_message([](int fd, chars from) {
       iovec all = part(from);
       msghdr m{};
       m.msg_iov = &all;
       m.msg_iovlen = 1;
       return ::sendmsg(fd, &m, 0);
     })},
    {"sendmmsg", by_message([](int fd, chars from) {
       iovec all = part(from);
       mmsghdr m{};
       m.msg_hdr.msg_iov = &all;
       m.msg_hdr.msg_iovlen = 1;
       return ::sendmmsg(fd, &m, 1, 0) == 1 ? static_cast<ssize_t>(m.msg_len) : -1;
     })},
};

bool same(std::span<const char> a, const std::string& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

// Node 1 has written it, and it is node 1's: node 0 has no page of it.
void fill_elsewhere(weft::job& job, chars buffer, const std::string& with) {
  if (job.self() == 1) std::copy(with.begin(), with.end(), buffer.begin());
  weft::barrier();
}

void in(weft::job& job, chars buffer) {
  const std::string old = text('a'), contents = text('A');
  for (const auto& [name, read] : readers) {
    fill_elsewhere(job, buffer, old);
    if (job.self() == 0) check(read(buffer, contents) == static_cast<ssize_t>(most), std::string(name) + " fell short");
    weft::barrier();
    check(same(buffer, contents), std::string(name) + " brought something else");
    weft::barrier();
  }
}

void out(weft::job& job, chars buffer) {
  for (const auto& [name, write] : writers) {
    const std::string contents = text(name[0]);
    fill_elsewhere(job, buffer, contents);
    if (job.self() == 0) {
      scratch_file f;
      check(write(buffer, f.fd) == static_cast<ssize_t>(most), std::string(name) + " fell short");
      check(f.contents() == contents, std::string(name) + " wrote something else");
    }
    weft::barrier();
  }
}

void small(weft::job& job, chars buffer) {
  fill_elsewhere(job, buffer, text('a'));
  if (job.self() == 0) {
    scratch_file f("12345");
    auto* about = reinterpret_cast<struct stat*>(buffer.data());
    check(::fstat(f.fd, about) == 0 && about->st_size == 5, "fstat");
    auto* watched = reinterpret_cast<pollfd*>(buffer.data() + 8192);
    *watched = {f.fd, POLLIN, 0};
    check(::poll(watched, 1, 0) == 1 && watched->revents == POLLIN, "poll");
    check(::getrandom(buffer.data() + 16384, 256, 0) == 256, "getrandom");
    check(::read(-1, buffer.data(), 1) == -1 && errno == EBADF, "an error that is lost");
    check(::read(f.fd, reinterpret_cast<void*>(8), 1) == -1 && errno == EFAULT, "an address that is none");
  }
  weft::barrier();
}

// What weft's calls are for: without them the kernel finds no page.
void bare(weft::job& job, chars buffer) {
  fill_elsewhere(job, buffer, text('a'));
  if (job.self() == 0) {
    scratch_file f("12345");
    check(::syscall(SYS_pread64, f.fd, buffer.data(), std::size_t{5}, 0L) == -1 && errno == EFAULT,
          "a closed page that the kernel fills");
    weft::touch(buffer.data(), 5, true);
    check(::syscall(SYS_pread64, f.fd, buffer.data(), std::size_t{5}, 0L) == 5, "weft::touch");
  }
  weft::barrier();
  check(same(buffer.first(5), "12345"), "what a touched page got");
}

// One thread reads into its half of every page and writes it out again while another synchronises and the other node writes the other
// halves, so that pages are closed at any moment.
void while_others_synchronise(weft::job& job) {
  constexpr std::size_t pages = 32, half = weft::page_size / 2;
  auto all = weft::make_array<char>(pages * weft::page_size, weft::placement::on(1));
  auto& m = weft::make<weft::mutex>();
  std::atomic<bool> over{false};
  std::thread other([&] {
    for (int round = 0; !over; ++round) {
      std::scoped_lock lock(m);
      if (job.self() == 1)
        for (std::size_t p = 0; p < pages; ++p) all[p * weft::page_size + half + 5] = static_cast<char>(round);
    }
  });
  if (job.self() == 0) {
    scratch_file in(text('k')), out;
    for (int round = 0; round < 100; ++round)
      for (std::size_t p = 0; p < pages; ++p) {
        char* at = all.data() + p * weft::page_size;
        const auto n = static_cast<off_t>(round * 7);
        check(::pread(in.fd, at, half, n) == static_cast<ssize_t>(half), "pread beside a thread that synchronises");
        check(::pwrite(out.fd, at, half, n) == static_cast<ssize_t>(half), "pwrite beside a thread that synchronises");
      }
    check(out.contents() == text('k').substr(0, 99 * 7 + half), "what went through shared memory");
  }
  over = true;
  other.join();
  weft::barrier();
}

}  // namespace

int main(int argc, char** argv) {
  weft::job job(argc, argv);
  const std::string protocol = argc > 1 ? argv[1] : "direct";
  const bool closes = protocol != "direct" && protocol != "cashmere:in-place";  // pages that another node writes
  auto whole = weft::make_array<char>(most + 1, weft::placement::on(1));
  const chars buffer = whole.first(most);
  in(job, buffer);
  out(job, buffer);
  small(job, buffer);
  if (closes) bare(job, buffer);
  while_others_synchronise(job);
  if (job.self() == 0) std::printf("calls: right on %u nodes\n", job.nodes());
}
