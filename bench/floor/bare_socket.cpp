#include "bench/floor/bare_socket.h"

#include <cerrno>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "base/text.h"

namespace weft::bench {
namespace {

constexpr std::size_t small_buffer = std::size_t{4} << 20, bulk_buffer = std::size_t{32} << 20;
constexpr std::size_t KiB = 1024, MiB = KiB * KiB;

// 65,507 bytes are the most that a datagram carries.
constexpr socket_setup setups[] = {
    {65507, 1, 256 * KiB, false, false}, {65507, 1, 256 * KiB, false, true}, {65507, 1, MiB, false, false},
    {65507, 1, MiB, false, true},        {65507, 1, 4 * MiB, false, false},  {65507, 4, MiB, false, false},
    {65507, 4, MiB, false, true},        {32752, 2, MiB, true, false},       {16376, 4, MiB, true, true},
    {8, 32, MiB, false, true},           {64, 32, MiB, false, true},         {512, 32, MiB, false, true},
    {4096, 8, MiB, false, true},         {16384, 4, MiB, false, true},
};
static_assert(std::size(setups) > bulk_setups);

void check(int outcome, const char* what) {
  if (outcome < 0) base::system_failure(what, errno).or_throw();
}

// The forced form may exceed the system's limit, for those who are allowed to.
void size_buffer(int fd, int forced, int plain, std::size_t bytes) {
  const int value = static_cast<int>(bytes);
  if (::setsockopt(fd, SOL_SOCKET, forced, &value, sizeof value) != 0) ::setsockopt(fd, SOL_SOCKET, plain, &value, sizeof value);
}

os::unique_fd bound_socket(std::size_t buffer) {
  os::unique_fd s(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  check(s.get(), "cannot open a UDP socket");
  size_buffer(s.get(), SO_RCVBUFFORCE, SO_RCVBUF, buffer);
  size_buffer(s.get(), SO_SNDBUFFORCE, SO_SNDBUF, buffer);
  const timeval patience{10, 0};  // whatever is not there by then was lost
  ::setsockopt(s.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  sockaddr_in any{};
  any.sin_family = AF_INET;
  any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  check(::bind(s.get(), reinterpret_cast<const sockaddr*>(&any), sizeof any), "cannot bind a UDP socket");
  return s;
}

sockaddr_in address_of(int fd) {
  sockaddr_in a{};
  socklen_t length = sizeof a;
  check(::getsockname(fd, reinterpret_cast<sockaddr*>(&a), &length), "cannot ask for a socket's address");
  return a;
}

void connect_to(int fd, const sockaddr_in& a) {
  check(::connect(fd, reinterpret_cast<const sockaddr*>(&a), sizeof a), "cannot connect a UDP socket");
}

}  // namespace

std::span<const socket_setup> socket_setups() {
  return setups;
}

bare_sockets::bare_sockets(job& all) : small_(bound_socket(small_buffer)), bulk_(bound_socket(bulk_buffer)) {
  struct addresses {
    sockaddr_in small, bulk;
  };
  const auto theirs = all.exchange_values(addresses{address_of(small()), address_of(bulk())})[1 - all.self()];
  connect_to(small(), theirs.small);
  connect_to(bulk(), theirs.bulk);
  int granted = 0;
  socklen_t length = sizeof granted;
  ::getsockopt(bulk(), SOL_SOCKET, SO_RCVBUF, &granted, &length);
  receive_buffer_ = static_cast<std::size_t>(granted);
}

}  // namespace weft::bench
