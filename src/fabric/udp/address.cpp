#include "fabric/udp/address.h"

#include <algorithm>
#include <cstring>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include "base/text.h"

namespace weft::fabric::udp {

namespace {

constexpr std::size_t most_addresses = 64;

std::size_t octets_of(std::uint8_t family) {
  return family == AF_INET ? 4 : 16;
}

bool prefix_equal(const address& a, const address& b, unsigned bits) {
  if (a.family != b.family) return false;
  for (unsigned i = 0; i < bits; ++i) {
    const auto mask = static_cast<std::uint8_t>(0x80u >> (i % 8));
    if ((a.octets[i / 8] & mask) != (b.octets[i / 8] & mask)) return false;
  }
  return true;
}

std::uint8_t prefix_of(const sockaddr* mask) {
  const auto* raw = mask->sa_family == AF_INET
                        ? reinterpret_cast<const std::uint8_t*>(&reinterpret_cast<const sockaddr_in*>(mask)->sin_addr)
                        : reinterpret_cast<const std::uint8_t*>(&reinterpret_cast<const sockaddr_in6*>(mask)->sin6_addr);
  unsigned bits = 0;
  for (std::size_t i = 0; i < octets_of(static_cast<std::uint8_t>(mask->sa_family)); ++i)
    bits += static_cast<unsigned>(__builtin_popcount(raw[i]));
  return static_cast<std::uint8_t>(bits);
}

address from_sockaddr(const sockaddr* s, std::uint8_t prefix) {
  address a;
  a.family = static_cast<std::uint8_t>(s->sa_family);
  a.prefix = prefix;
  if (a.family == AF_INET)
    std::memcpy(a.octets.data(), &reinterpret_cast<const sockaddr_in*>(s)->sin_addr, 4);
  else
    std::memcpy(a.octets.data(), &reinterpret_cast<const sockaddr_in6*>(s)->sin6_addr, 16);
  return a;
}

// "10.0.0.0/8" or "10.0.0.1": an address and how many of its bits count.
bool parse_network(const std::string& text, address& into) {
  const auto parts = base::split(text, '/');
  if (parts.size() > 2) return false;
  for (int family : {AF_INET, AF_INET6}) {
    if (::inet_pton(family, parts[0].c_str(), into.octets.data()) != 1) continue;
    into.family = static_cast<std::uint8_t>(family);
    const auto all = octets_of(into.family) * 8;
    const auto bits = parts.size() == 2 ? base::parse_number(parts[1]) : all;
    if (!bits || *bits > all) return false;
    into.prefix = static_cast<std::uint8_t>(*bits);
    return true;
  }
  return false;
}

}  // namespace

bool address::same_network(const address& other) const {
  return prefix_equal(*this, other, std::min(prefix, other.prefix));
}

std::string address::text() const {
  char buffer[INET6_ADDRSTRLEN] = {};
  ::inet_ntop(family, octets.data(), buffer, sizeof buffer);
  return buffer;
}

std::string endpoint::text() const {
  const auto* s = reinterpret_cast<const sockaddr*>(&where);
  const auto port = ntohs(s->sa_family == AF_INET ? reinterpret_cast<const sockaddr_in*>(s)->sin_port
                                                  : reinterpret_cast<const sockaddr_in6*>(s)->sin6_port);
  return from_sockaddr(s, 0).text() + " port " + std::to_string(port);
}

endpoint make_endpoint(const address& a, std::uint16_t port) {
  endpoint e;
  if (a.family == AF_INET) {
    auto* s = reinterpret_cast<sockaddr_in*>(&e.where);
    s->sin_family = AF_INET;
    s->sin_port = htons(port);
    std::memcpy(&s->sin_addr, a.octets.data(), 4);
    e.length = sizeof *s;
  } else {
    auto* s = reinterpret_cast<sockaddr_in6*>(&e.where);
    s->sin6_family = AF_INET6;
    s->sin6_port = htons(port);
    std::memcpy(&s->sin6_addr, a.octets.data(), 16);
    e.length = sizeof *s;
  }
  return e;
}

result<std::vector<address>> offered_addresses(bool one_host, const std::string& chosen) {
  if (one_host && chosen.empty()) return std::vector<address>{{AF_INET, 8, {127, 0, 0, 1}}};
  address network;
  const bool by_network = parse_network(chosen, network);
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return base::system_failure("cannot list this host's network interfaces", errno);
  std::vector<address> found;
  bool known_name = chosen.empty() || by_network;
  for (const ifaddrs* i = list; i; i = i->ifa_next) {
    if (chosen == i->ifa_name) known_name = true;
    if (!i->ifa_addr || !i->ifa_netmask || !(i->ifa_flags & IFF_UP)) continue;
    if (i->ifa_addr->sa_family != AF_INET && i->ifa_addr->sa_family != AF_INET6) continue;
    const address a = from_sockaddr(i->ifa_addr, prefix_of(i->ifa_netmask));
    const bool link_local = a.family == AF_INET6 && a.octets[0] == 0xfe && (a.octets[1] & 0xc0) == 0x80;
    const bool wanted = chosen.empty() ? !(i->ifa_flags & IFF_LOOPBACK)
                        : by_network   ? prefix_equal(a, network, network.prefix)
                                       : chosen == i->ifa_name;
    if (wanted && !link_local && found.size() < most_addresses) found.push_back(a);
  }
  ::freeifaddrs(list);
  if (!known_name)
    return {errc::invalid_argument,
            base::format("there is no network interface \"%s\" on this host; see: ip -brief address", chosen.c_str())};
  if (found.empty())
    return {errc::unavailable,
            chosen.empty()
                ? std::string("this host has no network interface that is up and has an address; bring one up, or "
                              "name one with --interface")
                : base::format("no address of this host matches --interface %s; see: ip -brief address", chosen.c_str())};
  std::stable_sort(found.begin(), found.end(),
                   [](const address& a, const address& b) { return a.family < b.family; });  // IPv4 first
  return found;
}

base::byte_buffer card::pack() const {
  base::writer out;
  out.put(port).put(static_cast<std::uint8_t>(addresses.size()));
  for (const auto& a : addresses) out.put(a.family).put(a.prefix).put(a.octets);
  return out.take();
}

result<card> card::unpack(base::byte_view bytes) {
  base::reader in(bytes);
  card c;
  c.port = in.take<std::uint16_t>();
  const auto count = in.take<std::uint8_t>();
  for (unsigned i = 0; i < count && in.ok(); ++i) {
    address a;
    a.family = in.take<std::uint8_t>();
    a.prefix = in.take<std::uint8_t>();
    a.octets = in.take<std::array<std::uint8_t, 16>>();
    if ((a.family != AF_INET && a.family != AF_INET6) || a.prefix > octets_of(a.family) * 8)
      return {errc::invalid_argument, "a malformed card"};
    c.addresses.push_back(a);
  }
  if (!in.complete() || c.addresses.empty()) return {errc::invalid_argument, "a malformed card"};
  return c;
}

result<endpoint> choose_endpoint(const std::vector<address>& ours, const card& peer) {
  for (const auto& theirs : peer.addresses)
    for (const auto& mine : ours)
      if (theirs.same_network(mine)) return make_endpoint(theirs, peer.port);
  for (const auto& theirs : peer.addresses)
    if (theirs.family == ours.front().family) return make_endpoint(theirs, peer.port);
  return {errc::unavailable, "no network in common (one offers IPv4 only, the other IPv6 only); choose one with --interface"};
}

}  // namespace weft::fabric::udp
