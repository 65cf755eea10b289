#include "fabric/udp/socket.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <netinet/udp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/text.h"

namespace weft::fabric::udp {

namespace {

// Older C library headers lack these two; the kernel has had them since 4.18 and 5.0.
constexpr int udp_segment = 103, udp_gro = 104;

constexpr std::size_t large_datagram = 16384;
constexpr std::size_t few_buffers = 2;  // a 64 KiB put is a full datagram and a short one

int set_option(int fd, int level, int name, int value) {
  return ::setsockopt(fd, level, name, &value, sizeof value);
}

// The forced form may exceed the system's limit, for those who are allowed to.
void size_buffer(int fd, int forced, int plain, std::size_t bytes) {
  if (set_option(fd, SOL_SOCKET, forced, static_cast<int>(bytes)) != 0) set_option(fd, SOL_SOCKET, plain, static_cast<int>(bytes));
}

// Never fragment: a lost fragment loses the datagram.
void keep_whole(int fd, int family) {
  if (family == AF_INET)
    set_option(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO);
  else
    set_option(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DO);
}

}  // namespace

destination::destination(const endpoint& to, std::size_t kernel_bytes) : to_(to) {
  os::unique_fd fd(::socket(to.where.ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return;
  size_buffer(fd.get(), SO_SNDBUFFORCE, SO_SNDBUF, kernel_bytes);
  set_option(fd.get(), SOL_SOCKET, SO_RCVBUF, 0);  // nobody was told its port
  keep_whole(fd.get(), to.where.ss_family);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to.where), to.length) == 0) fd_ = std::move(fd);
}

result<datagram_socket> datagram_socket::open(std::uint8_t family, bool loopback, std::uint16_t port, std::size_t kernel_bytes) {
  datagram_socket s;
  s.fd_ = os::unique_fd(::socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!s.fd_) return base::system_failure("cannot open a UDP socket", errno);
  const int fd = s.fd_.get();
  size_buffer(fd, SO_RCVBUFFORCE, SO_RCVBUF, kernel_bytes);
  size_buffer(fd, SO_SNDBUFFORCE, SO_SNDBUF, kernel_bytes);
  set_option(fd, SOL_UDP, udp_gro, 1);
  keep_whole(fd, family);

  address any;
  any.family = family;
  if (loopback && family == AF_INET) any.octets = {127, 0, 0, 1};
  if (loopback && family == AF_INET6) any.octets[15] = 1;
  const endpoint at = make_endpoint(any, port);
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&at.where), at.length) != 0) {
    if (errno == EADDRINUSE)
      return {errc::system,
              base::format("UDP port %u is taken by another process; choose another with --port, or leave it out", port)};
    if (errno == EACCES)
      return {errc::system, base::format("UDP port %u needs privileges; choose one above 1023 with --port, or leave it out", port)};
    return base::system_failure(base::format("cannot bind UDP port %u", port), errno);
  }
  sockaddr_storage bound{};
  socklen_t length = sizeof bound;
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &length);
  s.port_ = ntohs(family == AF_INET ? reinterpret_cast<sockaddr_in*>(&bound)->sin_port
                                    : reinterpret_cast<sockaddr_in6*>(&bound)->sin6_port);
  int granted = 0;
  socklen_t granted_length = sizeof granted;
  ::getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &granted, &granted_length);
  s.receive_buffer_ = static_cast<std::size_t>(granted);
  for (auto& b : s.buffers_) b = reliable::new_lines(lead + datagram_socket::buffer_bytes);
  return s;
}

std::size_t datagram_socket::path_payload(const endpoint& to) {
  const auto family = to.where.ss_family;
  const bool v4 = family == AF_INET;
  const std::size_t overhead = v4 ? 28 : 48, most = v4 ? 65507 : 65487;
  os::unique_fd probe(::socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  int mtu = 1500;
  socklen_t length = sizeof mtu;
  if (!probe || ::connect(probe.get(), reinterpret_cast<const sockaddr*>(&to.where), to.length) != 0 ||
      ::getsockopt(probe.get(), v4 ? IPPROTO_IP : IPPROTO_IPV6, v4 ? IP_MTU : IPV6_MTU, &mtu, &length) != 0)
    mtu = 1500;
  return std::clamp<std::size_t>(static_cast<std::size_t>(std::max(mtu, 576)) - overhead, 548, most);
}

namespace {
datagram_socket::outcome outcome_of(long sent) {
  if (sent >= 0) return datagram_socket::outcome::sent;
  switch (errno) {
    case EAGAIN:
    case ENOBUFS:
    case EINTR: return datagram_socket::outcome::would_block;
    case EMSGSIZE: return datagram_socket::outcome::too_large;
    default: return datagram_socket::outcome::failed;
  }
}

msghdr message_to(const destination& to, iovec* pieces, std::size_t count) {
  msghdr m{};
  if (to.connected() < 0) {
    m.msg_name = const_cast<sockaddr_storage*>(&to.address().where);
    m.msg_namelen = to.address().length;
  }
  m.msg_iov = pieces;
  m.msg_iovlen = count;
  return m;
}

// The kernel is called directly: in a program that shares memory, sendmsg and recvmmsg look first at whether what they are given is
// shared, and nothing of this is.
constexpr int sending = MSG_DONTWAIT | MSG_NOSIGNAL;
long send_message(int fd, const msghdr& m) {
  return ::syscall(SYS_sendmsg, fd, &m, sending);
}

int receive_messages(int fd, mmsghdr* into, std::size_t count) {
  return static_cast<int>(::syscall(SYS_recvmmsg, fd, into, count, MSG_DONTWAIT, nullptr));
}

iovec piece(bytes b) {
  return {const_cast<std::byte*>(b.data()), b.size()};
}
}  // namespace

datagram_socket::outcome datagram_socket::send(const destination& to, bytes all) {
  const endpoint* address = to.connected() < 0 ? &to.address() : nullptr;
  return outcome_of(::syscall(SYS_sendto, sender(to), all.data(), all.size(), sending, address ? &address->where : nullptr,
                              address ? address->length : 0));
}

datagram_socket::outcome datagram_socket::send(const destination& to, bytes head, bytes body) {
  if (body.empty()) return send(to, head);
  iovec pieces[] = {piece(head), piece(body)};
  return outcome_of(send_message(sender(to), message_to(to, pieces, 2)));
}

datagram_socket::outcome datagram_socket::send_segments(const destination& to, bytes data, std::size_t segment) {
  if (data.size() <= segment) return send(to, data);
  if (can_segment_) {
    iovec pieces[] = {piece(data)};
    msghdr m = message_to(to, pieces, 1);
    alignas(cmsghdr) std::byte control[CMSG_SPACE(sizeof(std::uint16_t))] = {};
    m.msg_control = control;
    m.msg_controllen = sizeof control;
    cmsghdr* c = CMSG_FIRSTHDR(&m);
    c->cmsg_level = SOL_UDP;
    c->cmsg_type = udp_segment;
    c->cmsg_len = CMSG_LEN(sizeof(std::uint16_t));
    base::store(reinterpret_cast<std::byte*>(CMSG_DATA(c)), static_cast<std::uint16_t>(segment));
    const auto sent = send_message(sender(to), m);
    if (sent >= 0 || (errno != EINVAL && errno != EIO && errno != EOPNOTSUPP)) return outcome_of(sent);
    can_segment_ = false;  // this route's device cannot; one by one from now on
  }
  while (!data.empty()) {
    const auto n = std::min(segment, data.size());
    if (const auto o = send(to, data.first(n)); o != outcome::sent) return o;
    data = data.subspan(n);
  }
  return outcome::sent;
}

int datagram_socket::receive_batch() {
  std::array<mmsghdr, buffers> headers;
  std::array<iovec, buffers> vectors;
  struct control_space {
    alignas(cmsghdr) std::byte bytes[CMSG_SPACE(sizeof(int))];
  };
  std::array<control_space, buffers> control;
  const std::size_t batch = large_ > 0 ? few_buffers : buffers;
  for (std::size_t i = 0; i < batch; ++i) {
    vectors[i] = {buffers_[i].get() + lead, buffer_bytes};
    headers[i] = {};
    headers[i].msg_hdr.msg_iov = &vectors[i];
    headers[i].msg_hdr.msg_iovlen = 1;
    headers[i].msg_hdr.msg_control = control[i].bytes;
    headers[i].msg_hdr.msg_controllen = sizeof control[i].bytes;
  }
  ++calls_;
  const int got = receive_messages(fd_.get(), headers.data(), batch);
  drained_ = got < static_cast<int>(batch);
  for (int n = 0; n < got; ++n) {
    const auto i = static_cast<std::size_t>(n);
    sizes_[i] = headers[i].msg_len;
    segments_[i] = 0;
    for (cmsghdr* c = CMSG_FIRSTHDR(&headers[i].msg_hdr); c; c = CMSG_NXTHDR(&headers[i].msg_hdr, c))
      if (c->cmsg_level == SOL_UDP && c->cmsg_type == udp_gro)
        segments_[i] = static_cast<std::size_t>(std::max(0, base::load<int>(reinterpret_cast<const std::byte*>(CMSG_DATA(c)))));
    large_ = sizes_[i] >= large_datagram ? buffers : large_ - (large_ > 0);
  }
  return std::max(got, 0);
}

}  // namespace weft::fabric::udp
