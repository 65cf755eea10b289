// What the network gives: UDP with its buffers and offloads, libfabric with its providers, RDMA devices.
#include <arpa/inet.h>
#include <dirent.h>
#include <linux/udp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <set>

#include "base/clock.h"
#include "base/text.h"
#include "cli/doctor.h"
#include "fabric/ofi/library.h"
#include "os/descriptor.h"

namespace weft::cli {
namespace {

using os::descriptor;

constexpr std::uint64_t enough_buffer = 4 * 1024 * 1024;
constexpr base::nanoseconds patience_for_providers = 10 * base::second;

bool udp_works() {
  const descriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (!socket.open() || ::bind(socket.get(), generic, size) != 0 || ::getsockname(socket.get(), generic, &size) != 0) return false;
  char byte = 1;
  if (::sendto(socket.get(), &byte, 1, 0, generic, size) != 1) return false;
  pollfd p{socket.get(), POLLIN, 0};
  return ::poll(&p, 1, 1000) == 1 && ::recv(socket.get(), &byte, 1, 0) == 1;
}

bool socket_option_works(int option, int value) {
  const descriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  return socket.open() && ::setsockopt(socket.get(), IPPROTO_UDP, option, &value, sizeof value) == 0;
}

void examine_buffers(diagnosis& d) {
  for (const char* name : {"rmem_max", "wmem_max"}) {
    const auto text = kernel_setting(std::string("/proc/sys/net/core/") + name);
    const bool small = base::parse_number(text).value_or(0) < enough_buffer;
    const bool privileged = small && ::geteuid() == 0;
    d.add({name, std::string("net.core.") + name,
           text.empty() ? "not to be seen here" : text + (privileged ? " (root may exceed it)" : ""),
           small && !privileged && !text.empty() ? grade::lacking : grade::good,
           small && !privileged && !text.empty() ? base::format("sysctl -w net.core.%s=8388608", name) : ""});
  }
}

bool examine_udp(diagnosis& d) {
  const bool works = udp_works();
  d.add({"udp", "fabric udp", works ? "works" : "no datagrams on the loopback interface", works ? grade::good : grade::lacking,
         works ? "" : "ip link set lo up"});
  const bool gso = socket_option_works(UDP_SEGMENT, 1400), gro = socket_option_works(UDP_GRO, 1);
  d.add({"udp_offload", "UDP GSO, GRO", std::string(gso ? "yes, " : "no, ") + (gro ? "yes" : "no"),
         gso && gro ? grade::good : grade::lacking, gso && gro ? "" : "use Linux 5.0 or later for larger batches"});
  examine_buffers(d);
  return works;
}

std::vector<std::string> rdma_devices() {
  std::vector<std::string> names;
  if (DIR* folder = ::opendir("/sys/class/infiniband")) {
    while (const dirent* entry = ::readdir(folder))
      if (entry->d_name[0] != '.') names.push_back(entry->d_name);
    ::closedir(folder);
  }
  std::sort(names.begin(), names.end());
  return names;
}

// In a process of its own: providers start threads, and the one for broken hardware may hang or crash.
std::string providers_in_a_child() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return {};
  const descriptor reads(ends[0]);
  descriptor writes(ends[1]);
  const pid_t child = ::fork();
  if (child == 0) {
    const descriptor nowhere(::open("/dev/null", O_RDWR));
    ::dup2(nowhere.get(), 1);
    ::dup2(nowhere.get(), 2);
    std::set<std::string> names;
    for (const auto& each : fabric::ofi::list_providers()) names.insert(each.name);
    std::string text;
    for (const auto& name : names) text += (text.empty() ? "" : ", ") + name;
    ::_exit(::write(writes.get(), text.data(), text.size()) < 0 ? 1 : 0);
  }
  writes.close();
  std::string text;
  const auto deadline = base::now() + patience_for_providers;
  while (child > 0) {
    pollfd p{reads.get(), POLLIN, 0};
    const auto left = std::max<base::nanoseconds>(0, deadline - base::now());
    char buffer[4096];
    if (::poll(&p, 1, static_cast<int>(left / base::millisecond)) != 1) break;
    const auto got = ::read(reads.get(), buffer, sizeof buffer);
    if (got <= 0) break;
    text.append(buffer, static_cast<std::size_t>(got));
  }
  if (child > 0) {
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  }
  return text;
}

// The providers, or nothing without libfabric.
std::string examine_libfabric(diagnosis& d) {
  const auto library = fabric::ofi::load_library();
  if (!library) {
    d.add({"libfabric", "fabric ofi", "libfabric was not found", grade::lacking, "apt-get install libfabric1"});
    return {};
  }
  const auto version = (*library)->version();
  d.add({"libfabric", "fabric ofi", base::format("libfabric %u.%u (%s)", version >> 16, version & 0xffff, (*library)->path.c_str()),
         grade::good, ""});
  const auto providers = providers_in_a_child();
  d.add({"providers", "  its providers", providers.empty() ? "none" : providers, providers.empty() ? grade::lacking : grade::good,
         providers.empty() ? "apt-get install libfabric-bin, and see what fi_info says" : ""});
  return providers;
}

}  // namespace

void examine_network(diagnosis& d) {
  const bool memfd =
      std::any_of(d.findings.begin(), d.findings.end(), [](const auto& f) { return f.key == "memfd" && f.grade == grade::good; });
  d.add({"shm", "fabric shm", memfd ? "works" : "needs memfd", memfd ? grade::good : grade::lacking, ""});
  const bool udp = examine_udp(d);
  const auto providers = examine_libfabric(d);
  const auto devices = rdma_devices();
  std::string names;
  for (const auto& each : devices) names += (names.empty() ? "" : ", ") + each;
  d.add({"rdma", "RDMA devices", devices.empty() ? "none" : names, grade::plain, ""});

  d.choose({"fabric_one_host", "fabric on one host", memfd ? "shm" : "udp",
            memfd ? "nodes share page frames" : "there is no memfd to share"});
  if (!udp && providers.empty()) {
    d.choose({"fabric_across_hosts", "fabric across hosts", "none", "neither UDP nor libfabric works here"});
  } else if (!udp) {
    d.choose({"fabric_across_hosts", "fabric across hosts", "ofi", "UDP does not work here; say --fabric ofi"});
  } else {
    d.choose({"fabric_across_hosts", "fabric across hosts", "udp",
              devices.empty() ? "it needs nothing, and there is no RDMA device"
                              : "it needs nothing; try --fabric ofi for the RDMA device"});
  }
}

}  // namespace weft::cli
