// First writes as the kernel records them: userfaultfd's asynchronous write protection and PAGEMAP_SCAN. The constants are here because
// distributions' headers are older than the kernels they run on.
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/text.h"
#include "os/memory_file.h"
#include "os/write_tracker.h"

namespace weft::os {

namespace {

constexpr std::uint64_t feature_wp_shmem = 1u << 12, feature_wp_unpopulated = 1u << 13, feature_wp_async = 1u << 15;
constexpr std::uint64_t scan_protect = 1u << 0, scan_require_async = 1u << 1;
constexpr std::uint64_t page_is_written = 1u << 1;

struct scan_region {
  std::uint64_t start, end, categories;
};

struct scan_request {
  std::uint64_t size, flags, start, end, walk_end, vector, vector_length, most_pages;
  std::uint64_t inverted, all_of, any_of, returned;
};

constexpr unsigned long scan_ioctl = _IOWR('f', 16, scan_request);

class kernel_tracker final : public write_tracker {
 public:
  kernel_tracker(std::byte* base, std::size_t size, unique_fd faults, unique_fd pagemap)
      : write_tracker(base, size), faults_(std::move(faults)), pagemap_(std::move(pagemap)) {}
  ~kernel_tracker() override {
    uffdio_range all{reinterpret_cast<std::uint64_t>(base_), pages_ * page_bytes};
    ::ioctl(faults_.get(), UFFDIO_UNREGISTER, &all);
  }

  const char* name() const noexcept override { return "kernel"; }
  void written(std::vector<page_range>& into) override { scan(0, into); }
  void take_written(std::vector<page_range>& into) override { scan(scan_protect, into); }

  void protect(page_range pages) override {
    uffdio_writeprotect request{};
    request.range = {reinterpret_cast<std::uint64_t>(address_of(pages.first)), pages.count() * page_bytes};
    request.mode = UFFDIO_WRITEPROTECT_MODE_WP;
    ::ioctl(faults_.get(), UFFDIO_WRITEPROTECT, &request);
  }

 private:
  // The kernel fills a bounded list and says how far it came.
  void scan(std::uint64_t flags, std::vector<page_range>& into) {
    scan_region found[256];
    const auto begin = reinterpret_cast<std::uint64_t>(base_), end = begin + pages_ * page_bytes;
    for (std::uint64_t from = begin; from < end;) {
      scan_request request{};
      request.size = sizeof request;
      request.flags = flags | scan_require_async;
      request.start = from;
      request.end = end;
      request.vector = reinterpret_cast<std::uint64_t>(found);
      request.vector_length = std::size(found);
      request.all_of = request.returned = page_is_written;
      const int regions = ::ioctl(pagemap_.get(), scan_ioctl, &request);
      if (regions < 0) return;  // cannot be, after a registration that succeeded
      for (int i = 0; i < regions; ++i) add({(found[i].start - begin) / page_bytes, (found[i].end - begin) / page_bytes}, into);
      if (request.walk_end <= from) return;
      from = request.walk_end;
    }
  }

  static void add(page_range r, std::vector<page_range>& into) {
    if (!into.empty() && into.back().last == r.first)
      into.back().last = r.last;
    else
      into.push_back(r);
  }

  unique_fd faults_, pagemap_;
};

}  // namespace

result<std::unique_ptr<write_tracker>> detail::track_by_kernel(std::byte* base, std::size_t size) {
  unique_fd faults(static_cast<int>(::syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY)));
  if (!faults) return base::system_failure("userfaultfd", errno);
  uffdio_api api{UFFD_API, UFFD_FEATURE_PAGEFAULT_FLAG_WP | feature_wp_shmem | feature_wp_unpopulated | feature_wp_async, 0};
  if (::ioctl(faults.get(), UFFDIO_API, &api) != 0)
    return {errc::unavailable, "this kernel does not record first writes (userfaultfd WP_ASYNC, Linux 6.7)"};
  uffdio_register area{{reinterpret_cast<std::uint64_t>(base), size}, UFFDIO_REGISTER_MODE_WP, 0};
  if (::ioctl(faults.get(), UFFDIO_REGISTER, &area) != 0) return base::system_failure("registering memory with userfaultfd", errno);
  unique_fd pagemap(::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
  if (!pagemap) return base::system_failure("opening /proc/self/pagemap", errno);
  auto tracker = std::make_unique<kernel_tracker>(base, size, std::move(faults), std::move(pagemap));
  tracker->protect({0, size / page_bytes});
  return std::unique_ptr<write_tracker>(std::move(tracker));
}

}  // namespace weft::os
