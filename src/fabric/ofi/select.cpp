#include "fabric/ofi/select.h"

#include <cstdlib>
#include <cstring>
#include <optional>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>

#include "base/text.h"
#include "fabric/ofi/frame.h"
#include "fabric/window_table.h"

namespace weft::fabric::ofi {

namespace {

// An internet address as 16 bytes; version 4 in its mapped form.
using address = std::array<std::uint8_t, 16>;

address widened(const in_addr& from) {
  address a{};
  a[10] = a[11] = 0xff;
  std::memcpy(&a[12], &from, 4);
  return a;
}

address widened(const in6_addr& from) {
  address a;
  std::memcpy(a.data(), &from, a.size());
  return a;
}

std::optional<address> address_of(const sockaddr* from) {
  if (from && from->sa_family == AF_INET) return widened(reinterpret_cast<const sockaddr_in*>(from)->sin_addr);
  if (from && from->sa_family == AF_INET6) return widened(reinterpret_cast<const sockaddr_in6*>(from)->sin6_addr);
  return std::nullopt;
}

std::optional<address> address_of(const fi_info& info) {
  const bool internet =
      info.addr_format == FI_SOCKADDR || info.addr_format == FI_SOCKADDR_IN || info.addr_format == FI_SOCKADDR_IN6;
  return internet && info.src_addr ? address_of(static_cast<const sockaddr*>(info.src_addr)) : std::nullopt;
}

bool is_version_4(const address& a) {
  return a[10] == 0xff && a[11] == 0xff && a[0] == 0;
}
bool is_loopback(const address& a) {
  return is_version_4(a) ? a[12] == 127 : std::memcmp(a.data(), &in6addr_loopback, 16) == 0;
}
bool is_link_local(const address& a) {
  return is_version_4(a) ? a[12] == 169 && a[13] == 254 : a[0] == 0xfe && (a[1] & 0xc0) == 0x80;
}

bool same_prefix(const address& a, const address& b, unsigned bits) {
  for (unsigned i = 0; i < bits; ++i)
    if ((a[i / 8] ^ b[i / 8]) >> (7 - i % 8) & 1) return false;
  return true;
}

// "10.1.0.0/16", "fd00::/64", "10.1.2.3", or the name of an interface.
class wanted_network {
 public:
  explicit wanted_network(const std::string& text) : text_(text) {
    const auto slash = text.find('/');
    const std::string host = text.substr(0, slash);
    in_addr v4{};
    in6_addr v6{};
    const bool is_v4 = ::inet_pton(AF_INET, host.c_str(), &v4) == 1;
    if (is_v4)
      prefix_ = widened(v4);
    else if (::inet_pton(AF_INET6, host.c_str(), &v6) == 1)
      prefix_ = widened(v6);
    if (const auto bits = slash == std::string::npos ? std::nullopt : base::parse_number(text.substr(slash + 1)))
      bits_ = static_cast<unsigned>(std::min<std::uint64_t>(128, *bits + (is_v4 ? 96 : 0)));
  }

  bool given() const { return !text_.empty(); }

  bool holds(const fi_info& info) const {
    if (info.domain_attr->name && text_ == info.domain_attr->name) return true;
    const auto a = address_of(info);
    if (!a) return false;
    return prefix_ ? same_prefix(*a, *prefix_, bits_) : belongs_to_interface(*a);
  }

 private:
  bool belongs_to_interface(const address& a) const {
    ifaddrs* all = nullptr;
    if (::getifaddrs(&all) != 0) return false;
    const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(all, &::freeifaddrs);
    for (const ifaddrs* i = all; i; i = i->ifa_next)
      if (i->ifa_name == text_ && address_of(i->ifa_addr) == a) return true;
    return false;
  }

  std::string text_;
  std::optional<address> prefix_;
  unsigned bits_ = 128;
};

// How good a provider is for a job, by what it is known to stand for; one that is not in the list by what it says of itself.
int rank(const fi_info& info, bool one_host) {
  constexpr struct {
    const char* core;
    int rank;
  } known[] = {{"cxi", 100}, {"efa", 95}, {"verbs", 90}, {"ucx", 89}, {"psm3", 88}, {"opx", 88},    {"psm2", 87},
               {"psm", 86},  {"gni", 85}, {"tcp", 50},   {"net", 45}, {"udp", 20},  {"sockets", 10}};
  const std::string name = info.fabric_attr->prov_name, core = name.substr(0, name.find(';'));
  // Its queues are guarded by spin locks that a process takes along when it dies, and then its peers spin for ever. Only on demand.
  if (core == "shm") return one_host ? 5 : -1;
  for (const auto& k : known)
    if (core == k.core) return k.rank;
  if (core.starts_with("ofi_")) return -1;  // a layer on top of something else that has not been asked for
  return info.domain_attr->data_progress == FI_PROGRESS_AUTO ? 70 : 30;
}

// Among the addresses of one provider. One that the other hosts cannot reach is no choice at all.
int rank_address(const fi_info& info, bool one_host) {
  const auto a = address_of(info);
  if (!a) return 1;
  if (is_link_local(*a)) return -1;
  if (is_loopback(*a) != one_host) return one_host ? 1 : -1;
  return is_version_4(*a) ? 3 : 2;
}

// Among the forms of one provider: order first, because every put leans on it; a provider that gives it up for atomics (ofi_rxm)
// performs them with the destination's thread, which weft does as well.
int rank_form(const fi_info& info) {
  const plan p = make_plan(info, true);
  return (p.rma ? 8 : 0) + (p.ordered_puts() ? 4 : 0) + (p.atomics ? 2 : 0) + (p.inject > 0 ? 1 : 0);
}

struct question {
  std::uint64_t caps = FI_MSG;
  fi_threading threading = FI_THREAD_SAFE;
  std::uint64_t operation_flags = 0;
  int memory_modes = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
  std::string provider, fabric, domain;
};

char* copied(const std::string& text) {
  return text.empty() ? nullptr : ::strdup(text.c_str());
}

info_ptr ask(const library& l, const question& q) {
  const info_ptr hints(l.dupinfo(nullptr), free_info{&l});
  hints->caps = q.caps;
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->ep_attr->type = FI_EP_RDM;
  hints->domain_attr->mr_mode = q.memory_modes;
  hints->domain_attr->threading = q.threading;
  hints->tx_attr->op_flags = q.operation_flags;
  hints->fabric_attr->prov_name = copied(q.provider);
  hints->fabric_attr->name = copied(q.fabric);
  hints->domain_attr->name = copied(q.domain);
  fi_info* found = nullptr;
  if (l.getinfo(l.common_version(), nullptr, nullptr, 0, hints.get(), &found) != 0) found = nullptr;
  return {found, free_info{&l}};
}

constexpr std::uint64_t forms[] = {FI_MSG | FI_RMA | FI_ATOMIC, FI_MSG | FI_RMA, FI_MSG};

bool can_deliver(const library& l, const fi_info& chosen) {
  question q;
  q.caps = chosen.caps & (FI_MSG | FI_RMA | FI_ATOMIC);
  q.threading = chosen.domain_attr->threading;
  q.operation_flags = FI_DELIVERY_COMPLETE;
  q.provider = chosen.fabric_attr->prov_name;
  q.domain = chosen.domain_attr->name ? chosen.domain_attr->name : "";
  return ask(l, q) != nullptr;
}

// The shm provider names its files after the process, and a file that a killed process left behind is in the way of the next one with
// its number.
void name_uniquely(fi_info& info) {
  const std::string name = base::format("fi_shm://weft-%016llx", static_cast<unsigned long long>(new_capability()));
  std::free(info.src_addr);
  info.src_addr = copied(name);
  info.src_addrlen = name.size() + 1;
}

std::string names_here(const library& l) {
  std::string text;
  question q;
  for (q.threading = FI_THREAD_SAFE;; q.threading = FI_THREAD_DOMAIN) {
    const info_ptr all = ask(l, q);
    for (const fi_info* i = all.get(); i; i = i->next) {
      const std::string name = std::string("\"") + i->fabric_attr->prov_name + "\"";
      if (text.find(name) == std::string::npos) text += (text.empty() ? "" : ", ") + name;
    }
    if (q.threading == FI_THREAD_DOMAIN) return text.empty() ? "none" : text;
  }
}

status refuse_provider(const library& l, const fabric_options& options, bool any_address) {
  if (any_address)
    return {errc::unavailable,
            base::format("no provider of libfabric uses an address in \"%s\"; give an interface or address range of "
                         "this host (ip addr shows them)",
                         options.interface.c_str())};
  question q;
  q.provider = options.provider;
  q.memory_modes |= FI_MR_RAW;
  if (!options.provider.empty() && ask(l, q))
    return {errc::unavailable,
            base::format("libfabric's provider \"%s\" hands out raw memory keys, which weft does not carry; use another "
                         "provider or --fabric udp",
                         options.provider.c_str())};
  if (!options.provider.empty())
    return {errc::unavailable, base::format("libfabric has no provider \"%s\" with reliable datagrams here; it has: %s",
                                            options.provider.c_str(), names_here(l).c_str())};
  return {errc::unavailable, base::format("libfabric has no provider for a job on %s here; it has: %s; use --fabric udp",
                                          options.one_host ? "one host" : "several hosts", names_here(l).c_str())};
}

}  // namespace

result<selection> select_provider(const library& l, const fabric_options& options) {
  if (options.provider == "shm" && !options.one_host)
    return {errc::invalid_argument,
            "libfabric's provider \"shm\" reaches only nodes on one host, and this job has several; "
            "use --provider \"tcp;ofi_rxm\" or leave the choice to weft"};
  const wanted_network network(options.interface);
  info_ptr best(nullptr, free_info{&l});
  int best_score = -1;
  bool any = false;
  for (const std::uint64_t form : forms)
    for (const fi_threading threading : {FI_THREAD_SAFE, FI_THREAD_DOMAIN}) {
      question q;
      q.caps = form;
      q.threading = threading;
      q.provider = options.provider;
      const info_ptr found = ask(l, q);
      for (const fi_info* i = found.get(); i; i = i->next) {
        const bool local = std::string_view(i->fabric_attr->prov_name) == "shm";
        const int provider = options.provider.empty() ? rank(*i, options.one_host) : 1, where = rank_address(*i, options.one_host);
        if (provider < 0 || (where < 0 && !network.given())) continue;
        any = true;
        if (network.given() && !local && !network.holds(*i)) continue;
        const int score = provider * 1000 + rank_form(*i) * 20 + (where + 1) * 2 + (threading == FI_THREAD_SAFE ? 1 : 0);
        if (score <= best_score) continue;
        best_score = score;
        best.reset(l.dupinfo(i));
      }
    }
  if (!best) return refuse_provider(l, options, any);
  if (best->ep_attr->protocol == FI_PROTO_SHM) name_uniquely(*best);
  plan p = make_plan(*best, can_deliver(l, *best));
  size_lanes(p, options.nodes, largest_body);
  if (p.slot > best->ep_attr->max_msg_size)
    return {errc::unavailable, base::format("libfabric's provider \"%s\" takes messages of %zu bytes, and weft needs %zu",
                                            best->fabric_attr->prov_name, best->ep_attr->max_msg_size, p.slot)};
  return selection{std::move(best), p};
}

}  // namespace weft::fabric::ofi
