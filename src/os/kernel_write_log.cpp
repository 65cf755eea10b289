#include "os/kernel_write_log.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/text.h"

namespace weft::os {

namespace {

constexpr std::uint64_t scan_protect = 1u << 0, scan_require_async = 1u << 1;
constexpr std::uint64_t page_is_written = 1u << 1;

struct scan_request {  // struct pm_scan_arg of linux/fs.h
  std::uint64_t size, flags, start, end, walk_end, vector, vector_length, most_pages;
  std::uint64_t inverted, all_of, any_of, returned;
};

constexpr unsigned long scan_ioctl = _IOWR('f', 16, scan_request);

void add(page_range r, std::vector<page_range>& into) {
  if (!into.empty() && into.back().last == r.first)
    into.back().last = r.last;
  else
    into.push_back(r);
}

}  // namespace

result<unique_fd> open_userfaultfd(std::uint64_t features) {
  unique_fd faults(static_cast<int>(::syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY)));
  if (!faults) return base::system_failure("userfaultfd", errno);
  uffdio_api api{UFFD_API, features | UFFD_FEATURE_PAGEFAULT_FLAG_WP | uffd_wp_shmem | uffd_wp_unpopulated | uffd_wp_async, 0};
  if (::ioctl(faults.get(), UFFDIO_API, &api) != 0)
    return {errc::unavailable, "this kernel does not record first writes (userfaultfd WP_ASYNC, Linux 6.7)"};
  return faults;
}

result<kernel_write_log> kernel_write_log::open(std::byte* base) {
  unique_fd pagemap(::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
  if (!pagemap) return base::system_failure("opening /proc/self/pagemap", errno);
  kernel_write_log log(base, std::move(pagemap));
  scan_region found;
  std::uint64_t end;
  if (log.scan(base, base + page_bytes, false, {&found, 1}, end) < 0)
    return {errc::unavailable,
            base::format("this kernel does not say which pages were written (PAGEMAP_SCAN, Linux 6.7: %s)", std::strerror(errno))};
  return log;
}

int kernel_write_log::scan(std::byte* from, std::byte* to, bool again, std::span<scan_region> found, std::uint64_t& end) const {
  scan_request request{};
  request.size = sizeof request;
  request.flags = scan_require_async | (again ? scan_protect : 0);
  request.start = reinterpret_cast<std::uint64_t>(from);
  request.end = reinterpret_cast<std::uint64_t>(to);
  request.vector = reinterpret_cast<std::uint64_t>(found.data());
  request.vector_length = found.size();
  request.all_of = request.returned = page_is_written;
  const int regions = ::ioctl(pagemap_.get(), scan_ioctl, &request);
  end = request.walk_end;
  return regions;
}

// The kernel fills a bounded list and says how far it came.
void kernel_write_log::collect(page_range among, bool again, std::vector<page_range>& into) const {
  scan_region found[256];
  const auto base = reinterpret_cast<std::uint64_t>(base_), end = base + among.last * page_bytes;
  for (std::uint64_t from = base + among.first * page_bytes; from < end;) {
    std::uint64_t walked = 0;
    const int regions = scan(reinterpret_cast<std::byte*>(from), reinterpret_cast<std::byte*>(end), again, found, walked);
    if (regions < 0) return;  // cannot be, because it was tried when the log was opened
    for (int i = 0; i < regions; ++i) add({(found[i].start - base) / page_bytes, (found[i].end - base) / page_bytes}, into);
    if (walked <= from) return;
    from = walked;
  }
}

void write_protect(int faults, std::byte* base, page_range pages, bool on) {
  uffdio_writeprotect request{};
  request.range = {reinterpret_cast<std::uint64_t>(base + pages.first * page_bytes), pages.count() * page_bytes};
  request.mode = on ? UFFDIO_WRITEPROTECT_MODE_WP : 0;
  ::ioctl(faults, UFFDIO_WRITEPROTECT, &request);
}

}  // namespace weft::os
