// Plain UDP, measured: blocking round trips, bursts, and streams in all the ways of socket_setups().
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/text.h"
#include "bench/sides/duo.h"

namespace weft::bench {
namespace {

constexpr int udp_segment = 103, udp_gro = 104;  // older C library headers lack these two
constexpr std::uint64_t burst = 64;
constexpr std::size_t question_bytes = 16;
constexpr std::size_t slot_bytes = 65536;  // room for one datagram, joined or not

double since(base::nanoseconds start) {
  return static_cast<double>(base::now() - start);
}

[[noreturn]] void fail(const char* what) {
  base::system_failure(errno == EAGAIN ? "a plain UDP datagram on loopback was lost" : what, errno).or_throw();
  std::abort();
}

void send_one(int fd, std::span<const std::byte> data) {
  if (::send(fd, data.data(), data.size(), 0) < 0) fail("cannot send a datagram");
}

std::size_t receive_one(int fd, std::span<std::byte> into, bool spin = false) {
  while (true) {
    const auto n = ::recv(fd, into.data(), into.size(), spin ? MSG_DONTWAIT : 0);
    if (n >= 0) return static_cast<std::size_t>(n);
    if (!spin || errno != EAGAIN) fail("cannot receive a datagram");
  }
}

// Blocking on both sides, as a program without a fabric would do it.
timing round_trip(duo& d, std::size_t size, std::uint64_t count) {
  const int fd = d.sockets().small();
  const auto data = d.block(size);
  const auto start = base::now();
  for (std::uint64_t i = 0; i < count; ++i) {
    send_one(fd, data);
    receive_one(fd, data);
  }
  return {.whole = since(start)};
}

// A few bytes there, `size` back: what asking for a page is.
timing fetch(duo& d, std::size_t size, std::uint64_t count) {
  const int fd = d.sockets().small();
  const auto start = base::now();
  for (std::uint64_t i = 0; i < count; ++i) {
    send_one(fd, d.block(question_bytes));
    receive_one(fd, d.block(size));
  }
  return {.whole = since(start)};
}

void fetch_back(duo& d, std::size_t size, std::uint64_t count) {
  const int fd = d.sockets().small();
  for (std::uint64_t i = 0; i < count; ++i) {
    receive_one(fd, d.block(question_bytes));
    send_one(fd, d.block(size));
  }
}

void round_trip_back(duo& d, std::size_t size, std::uint64_t count) {
  const int fd = d.sockets().small();
  const auto data = d.block(size);
  for (std::uint64_t i = 0; i < count; ++i) {
    receive_one(fd, data);
    send_one(fd, data);
  }
}

// The receiver stays away until all of a burst is in its buffer.
timing bursts(duo& d, std::size_t size, std::uint64_t count) {
  const int fd = d.sockets().small();
  timing t;
  for (std::uint64_t i = 0; i < count / burst; ++i) {
    const auto start = base::now();
    for (std::uint64_t n = 0; n < burst; ++n) send_one(fd, d.block(size));
    t.sending += since(start);
    d.shared().meet();
    d.shared().meet();
  }
  return t;
}

void take_bursts(duo& d, std::size_t size, std::uint64_t count) {
  const int fd = d.sockets().small();
  for (std::uint64_t i = 0; i < count / burst; ++i) {
    d.shared().meet();
    const auto start = base::now();
    for (std::uint64_t n = 0; n < burst; ++n) receive_one(fd, d.block(size));
    d.shared()->receiving_ns.value.fetch_add(static_cast<std::uint64_t>(base::now() - start));
    d.shared().meet();
  }
}

// Sends `n` datagrams in one call.
void send_batch(int fd, const socket_setup& s, unsigned n, std::byte* from) {
  std::array<mmsghdr, 64> headers{};
  std::array<iovec, 64> pieces;
  alignas(cmsghdr) std::byte control[CMSG_SPACE(sizeof(std::uint16_t))] = {};
  const unsigned calls = s.segmented ? 1 : n;
  for (unsigned i = 0; i < calls; ++i) {
    pieces[i] = {from, s.segmented ? n * s.datagram : s.datagram};
    headers[i].msg_hdr.msg_iov = &pieces[i];
    headers[i].msg_hdr.msg_iovlen = 1;
  }
  if (s.segmented && n > 1) {
    headers[0].msg_hdr.msg_control = control;
    headers[0].msg_hdr.msg_controllen = sizeof control;
    cmsghdr* c = CMSG_FIRSTHDR(&headers[0].msg_hdr);
    c->cmsg_level = SOL_UDP;
    c->cmsg_type = udp_segment;
    c->cmsg_len = CMSG_LEN(sizeof(std::uint16_t));
    const auto segment = static_cast<std::uint16_t>(s.datagram);
    std::memcpy(CMSG_DATA(c), &segment, sizeof segment);
  }
  for (unsigned sent = 0; sent < calls;) {
    const int taken =
        calls == 1 ? (::sendmsg(fd, &headers[0].msg_hdr, 0) < 0 ? -1 : 1) : ::sendmmsg(fd, &headers[sent], calls - sent, 0);
    if (taken < 0) fail("cannot send datagrams");
    sent += static_cast<unsigned>(taken);
  }
}

// Receives what there is, at least one datagram; the bytes of it.
std::size_t receive_batch(int fd, const socket_setup& s, std::byte* into) {
  if (s.batch == 1 || s.segmented) return receive_one(fd, {into, slot_bytes}, s.spin);
  std::array<mmsghdr, 64> headers{};
  std::array<iovec, 64> pieces;
  for (unsigned i = 0; i < s.batch; ++i) {
    pieces[i] = {into + i * slot_bytes, slot_bytes};
    headers[i].msg_hdr.msg_iov = &pieces[i];
    headers[i].msg_hdr.msg_iovlen = 1;
  }
  int got = -1;
  while ((got = ::recvmmsg(fd, headers.data(), s.batch, s.spin ? MSG_DONTWAIT : MSG_WAITFORONE, nullptr)) < 0)
    if (!s.spin || errno != EAGAIN) fail("cannot receive datagrams");
  std::size_t bytes = 0;
  for (int i = 0; i < got; ++i) bytes += headers[static_cast<std::size_t>(i)].msg_len;
  return bytes;
}

// Datagrams that may be under way: each costs the receiver's buffer more than its bytes, small ones far more.
std::uint64_t window_of(duo& d, const socket_setup& s) {
  const std::size_t bytes = std::min(s.window, d.sockets().receive_buffer() / 4);
  return std::max<std::uint64_t>(bytes / std::max<std::size_t>(s.datagram, 2048), s.batch);
}

timing stream(duo& d, std::size_t which, std::uint64_t count) {
  const auto& s = socket_setups()[which];
  const int fd = d.sockets().bulk();
  const auto window = window_of(d, s);
  std::uint64_t sent = 0, arrived = 0;
  auto hear = [&] { receive_one(fd, std::as_writable_bytes(std::span(&arrived, 1)), s.spin); };
  const auto start = base::now();
  while (sent < count) {
    const auto n = static_cast<unsigned>(std::min<std::uint64_t>(s.batch, count - sent));
    while (sent + n - arrived > window) hear();
    send_batch(fd, s, n, d.block(s.datagram).data());
    sent += n;
  }
  while (arrived < count) hear();
  return {.whole = since(start)};
}

void take_stream(duo& d, std::size_t which, std::uint64_t count) {
  const auto& s = socket_setups()[which];
  const int fd = d.sockets().bulk();
  const int join = s.segmented ? 1 : 0;
  ::setsockopt(fd, SOL_UDP, udp_gro, &join, sizeof join);
  const auto step = std::max<std::uint64_t>(window_of(d, s) / 4, 1);
  std::uint64_t bytes = 0, told = 0;
  while (told < count) {
    bytes += receive_batch(fd, s, d.block(largest_block).data());
    const std::uint64_t arrived = bytes / s.datagram;
    if (arrived - told < step && arrived < count) continue;
    told = arrived;
    send_one(fd, std::as_bytes(std::span(&told, 1)));
  }
}

constexpr operation list[] = {
    {"socket_round_trip", round_trip, round_trip_back},
    {"socket_fetch", fetch, fetch_back},
    {"socket_bursts", bursts, take_bursts, burst},
    {"socket_stream", stream, take_stream},
};

}  // namespace

std::span<const operation> bare_socket_operations() {
  return list;
}

}  // namespace weft::bench
