// First writes as the kernel records them.
#include <cerrno>

#include <linux/userfaultfd.h>
#include <sys/ioctl.h>

#include "base/text.h"
#include "os/kernel_write_log.h"
#include "os/write_tracker.h"

namespace weft::os {

namespace {

class kernel_tracker final : public write_tracker {
 public:
  kernel_tracker(std::byte* base, std::size_t size, unique_fd faults, kernel_write_log log)
      : write_tracker(base, size), faults_(std::move(faults)), log_(std::move(log)) {}
  ~kernel_tracker() override {
    uffdio_range all{reinterpret_cast<std::uint64_t>(base_), pages_ * page_bytes};
    ::ioctl(faults_.get(), UFFDIO_UNREGISTER, &all);
  }

  const char* name() const noexcept override { return "kernel"; }
  void written(std::vector<page_range>& into) override { log_.collect({0, pages_}, false, into); }
  void take_written(std::vector<page_range>& into) override { log_.collect({0, pages_}, true, into); }
  void protect(page_range pages) override { write_protect(faults_.get(), base_, pages, true); }

 private:
  unique_fd faults_;
  kernel_write_log log_;
};

}  // namespace

result<std::unique_ptr<write_tracker>> detail::track_by_kernel(std::byte* base, std::size_t size) {
  auto faults = open_userfaultfd(0);
  if (!faults) return faults.failure();
  uffdio_register area{{reinterpret_cast<std::uint64_t>(base), size}, UFFDIO_REGISTER_MODE_WP, 0};
  if (::ioctl(faults->get(), UFFDIO_REGISTER, &area) != 0)
    return base::system_failure("registering memory with userfaultfd", errno);
  auto log = kernel_write_log::open(base);
  if (!log) return log.failure();
  auto tracker = std::make_unique<kernel_tracker>(base, size, std::move(*faults), std::move(*log));
  tracker->protect({0, size / page_bytes});
  return std::unique_ptr<write_tracker>(std::move(tracker));
}

}  // namespace weft::os
