// Where nodes are on the network: the addresses that a node offers on its card, and which of them two nodes use between each other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <sys/socket.h>
#include <weft/status.h>

#include "base/bytes.h"

namespace weft::fabric::udp {

// An IPv4 or IPv6 address of an interface, with the length of its network's prefix.
struct address {
  std::uint8_t family = 0;  // AF_INET or AF_INET6
  std::uint8_t prefix = 0;
  std::array<std::uint8_t, 16> octets{};

  bool same_network(const address& other) const;
  std::string text() const;
  bool operator==(const address&) const = default;
};

struct endpoint {
  sockaddr_storage where{};
  socklen_t length = 0;
  std::string text() const;
};
endpoint make_endpoint(const address& a, std::uint16_t port);

// The addresses of this host that a node may offer: only loopback when all nodes are on this host; otherwise those of every interface
// that is up, or of the one that `chosen` names (an interface's name, an address, or a network as 10.0.0.0/8).
result<std::vector<address>> offered_addresses(bool one_host, const std::string& chosen);

// A node's card: its port and its addresses, best first.
struct card {
  std::uint16_t port = 0;
  std::vector<address> addresses;

  base::byte_buffer pack() const;
  static result<card> unpack(base::byte_view bytes);
};

// The first of the peer's addresses that shares a network with one of ours, or else its first of the same family.
result<endpoint> choose_endpoint(const std::vector<address>& ours, const card& peer);

}  // namespace weft::fabric::udp
