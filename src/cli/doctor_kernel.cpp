// What the kernel gives to weft's shared memory: userfaultfd with its features, PAGEMAP_SCAN, memfds, and the limits on memory.
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>

#include "base/text.h"
#include "cli/doctor.h"
#include "os/page_engine.h"
#include "os/descriptor.h"

namespace weft::cli {
namespace {

using os::descriptor;

// Newer than the headers of Debian 12.
constexpr std::uint64_t feature_wp_shmem = 1u << 12, feature_wp_unpopulated = 1u << 13, feature_wp_async = 1u << 15;
constexpr std::uint64_t feature_minor_shmem = 1u << 10, feature_sigbus = 1u << 7;
constexpr int user_mode_only = 1;

struct scan_request {  // struct pm_scan_arg of linux/fs.h
  std::uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
  std::uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};
struct scan_region {  // struct page_region
  std::uint64_t start, end, categories;
};
constexpr std::uint64_t page_is_present = 1u << 3;
#define WEFT_PAGEMAP_SCAN _IOWR('f', 16, scan_request)

struct userfaults {
  descriptor fd;
  std::string how;  // it was got
};

// A context that handles faults of user code only is all that weft needs, and the kernel gives it to everybody.
userfaults open_userfaults() {
  const int flags = O_CLOEXEC | O_NONBLOCK;
  if (descriptor fd(static_cast<int>(::syscall(SYS_userfaultfd, flags))); fd.open()) return {std::move(fd), "for every fault"};
  if (descriptor fd(static_cast<int>(::syscall(SYS_userfaultfd, flags | user_mode_only))); fd.open())
    return {std::move(fd), "for faults of user code"};
  if (const descriptor device(::open("/dev/userfaultfd", O_RDWR | O_CLOEXEC)); device.open())
    if (descriptor fd(::ioctl(device.get(), _IO(0xAA, 0x00), flags)); fd.open()) return {std::move(fd), "through /dev/userfaultfd"};
  return {};
}

std::string missing_features() {
  struct named {
    std::uint64_t bit;
    const char* name;
  };
  static constexpr named wanted[] = {{feature_sigbus, "SIGBUS delivery"},
                                     {feature_minor_shmem, "minor faults on shared memory"},
                                     {feature_wp_shmem, "write protection of shared memory"},
                                     {feature_wp_unpopulated, "write protection of absent pages"},
                                     {feature_wp_async, "asynchronous write protection"}};
  auto context = open_userfaults();
  uffdio_api offer{UFFD_API, 0, 0};
  if (::ioctl(context.fd.get(), UFFDIO_API, &offer) != 0) return "the whole interface";
  std::string missing;
  std::uint64_t all = 0;
  for (const auto& each : wanted) {
    all |= each.bit;
    if ((offer.features & each.bit) == 0) missing += (missing.empty() ? "" : ", ") + std::string(each.name);
  }
  if (!missing.empty()) return missing;
  context = open_userfaults();  // one handshake a context; this is the one that counts
  uffdio_api ask{UFFD_API, all, 0};
  return ::ioctl(context.fd.get(), UFFDIO_API, &ask) == 0 ? "" : "all of them together";
}

// Whether the engine of section 7 can be built on it.
void examine_userfaults(diagnosis& d) {
  const auto context = open_userfaults();
  if (!context.fd.open()) {
    const bool forbidden = errno == EPERM;
    d.add({"userfaultfd", "userfaultfd", forbidden ? "not for this user" : "not in this kernel", grade::lacking,
           forbidden ? "sysctl -w vm.unprivileged_userfaultfd=1" : "use a kernel with CONFIG_USERFAULTFD, Linux 6.7 or later"});
    return;
  }
  const auto setting = kernel_setting("/proc/sys/vm/unprivileged_userfaultfd");
  d.add({"userfaultfd", "userfaultfd",
         "yes, " + context.how + " (vm.unprivileged_userfaultfd=" + (setting.empty() ? "?" : setting) +
             (::access("/dev/userfaultfd", R_OK | W_OK) == 0 ? ", /dev/userfaultfd open)" : ", /dev/userfaultfd closed)"),
         grade::good, ""});
  const auto missing = missing_features();
  d.add({"userfaultfd_features", "  its features",
         missing.empty() ? "minor faults, SIGBUS, asynchronous write protection" : "without " + missing,
         missing.empty() ? grade::good : grade::lacking, missing.empty() ? "" : "use Linux 6.7 or later"});
}

void examine_pagemap_scan(diagnosis& d) {
  const descriptor pagemap(::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  scan_region found{};
  scan_request ask{};
  ask.size = sizeof ask;
  ask.start = reinterpret_cast<std::uint64_t>(&found) & ~(page - 1);
  ask.end = ask.start + page;
  ask.vec = reinterpret_cast<std::uint64_t>(&found);
  ask.vec_len = 1;
  ask.category_mask = ask.return_mask = page_is_present;
  const bool works = pagemap.open() && ::ioctl(pagemap.get(), WEFT_PAGEMAP_SCAN, &ask) == 1;
  d.add({"pagemap_scan", "PAGEMAP_SCAN", works ? "yes" : std::string("no (") + std::strerror(errno) + ")",
         works ? grade::good : grade::lacking, works ? "" : "use Linux 6.7 or later"});
}

bool examine_memfd(diagnosis& d) {
  const descriptor file(::memfd_create("weft-doctor", MFD_CLOEXEC));
  const bool works = file.open() && ::ftruncate(file.get(), 4096) == 0;
  d.add({"memfd", "memfd", works ? "yes" : std::string("no (") + std::strerror(errno) + ")", works ? grade::good : grade::fatal,
         works ? "" : "use Linux 3.17 or later, and a sandbox that allows memfd_create"});
  return works;
}

void examine_map_count(diagnosis& d, bool splits_mappings) {
  constexpr std::uint64_t enough = 1048576;
  const auto text = kernel_setting("/proc/sys/vm/max_map_count");
  const auto count = base::parse_number(text).value_or(0);
  const bool tight = splits_mappings && count < enough;
  d.add({"max_map_count", "vm.max_map_count", text + (splits_mappings ? "" : " (userfaultfd does not need more)"),
         tight ? grade::lacking : grade::good,
         tight ? base::format("sysctl -w vm.max_map_count=%llu", static_cast<unsigned long long>(enough)) : ""});
}

// Whether this process may lock beyond its limit, as root may.
bool may_lock_anything() {
  const auto size = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  rlimit before{};
  ::getrlimit(RLIMIT_MEMLOCK, &before);
  rlimit none{0, before.rlim_max};
  if (::setrlimit(RLIMIT_MEMLOCK, &none) != 0) return false;
  void* page = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const bool able = page != MAP_FAILED && ::mlock(page, size) == 0;
  if (page != MAP_FAILED) ::munmap(page, size);
  ::setrlimit(RLIMIT_MEMLOCK, &before);
  return able;
}

void examine_locked_memory(diagnosis& d) {
  constexpr rlim_t enough = rlim_t{1} << 30;
  rlimit limit{};
  ::getrlimit(RLIMIT_MEMLOCK, &limit);
  const bool unlimited = limit.rlim_cur == RLIM_INFINITY, privileged = !unlimited && may_lock_anything();
  const auto value =
      unlimited ? std::string("unlimited") : base::format("%llu KiB", static_cast<unsigned long long>(limit.rlim_cur / 1024));
  const bool good = unlimited || privileged || limit.rlim_cur >= enough;
  d.add({"locked_memory", "locked memory limit", value + (privileged ? " (this user may exceed it)" : ""),
         good ? grade::good : grade::lacking,
         good ? "" : "ulimit -l unlimited (for --lock-memory and RDMA; /etc/security/limits.conf makes it last)"});
}

void examine_shared_memory(diagnosis& d) {
  struct statvfs about;
  if (::statvfs("/dev/shm", &about) != 0) {
    d.add({"dev_shm", "/dev/shm", "not there", grade::lacking, "mount -t tmpfs tmpfs /dev/shm"});
    return;
  }
  const auto bytes = static_cast<double>(about.f_blocks) * static_cast<double>(about.f_frsize);
  const bool small = bytes < 256.0 * 1024 * 1024;
  d.add({"dev_shm", "/dev/shm", base::format("%.1f GiB", bytes / (1024.0 * 1024 * 1024)), small ? grade::lacking : grade::good,
         small ? "mount -o remount,size=50% /dev/shm" : ""});
}

}  // namespace

void examine_kernel(diagnosis& d) {
  utsname about{};
  ::uname(&about);
  d.add({"kernel", "kernel", std::string(about.sysname) + " " + about.release + " " + about.machine, grade::plain, ""});
  examine_userfaults(d);
  examine_pagemap_scan(d);
  const auto engine = os::page_engine::best();
  const bool uffd = engine.how == os::page_engine::way::uffd;
  examine_map_count(d, !uffd);
  examine_memfd(d);
  examine_locked_memory(d);
  examine_shared_memory(d);
  d.choose({"page_engine", "page engine", uffd ? "uffd" : "mprotect", engine.why});
}

}  // namespace weft::cli
