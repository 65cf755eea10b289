// The page engine on userfaultfd: one context with minor faults, SIGBUS delivery and the kernel's own record of first writes.
#include <cerrno>
#include <csignal>

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "base/text.h"
#include "os/fault_trap.h"
#include "os/kernel_write_log.h"
#include "os/page_engine.h"

namespace weft::os {

namespace {

constexpr std::uint64_t continue_protected = 1u << 1;  // UFFDIO_CONTINUE_MODE_WP

class uffd_page_engine final : public page_engine, private trap_target {
 public:
  uffd_page_engine(mapping view, int file, unique_fd faults, kernel_write_log log, fault_handler& handler)
      : page_engine(view.base(), view.size(), handler),
        view_(std::move(view)),
        file_(file),
        faults_(std::move(faults)),
        log_(std::move(log)) {}
  ~uffd_page_engine() override { clear_trap(SIGBUS, *this); }

  status start() { return set_trap(SIGBUS, *this); }

  const char* name() const noexcept override { return "uffd"; }
  bool records_writes() const noexcept override { return true; }

  void open_watched(page_range pages) override { map(pages, continue_protected); }
  void open_free(page_range pages) override { map(pages, 0); }
  void close(page_range pages) override { ::madvise(address_of(pages.first), pages.count() * page_bytes, MADV_DONTNEED); }
  void watch(page_range pages) override { write_protect(faults_.get(), base_, pages, true); }
  void unwatch(page_range pages) override { write_protect(faults_.get(), base_, pages, false); }
  void note_write(std::size_t) override {}  // the kernel has
  void reopen(std::size_t page) override {
    uffdio_continue request{{reinterpret_cast<std::uint64_t>(address_of(page)), page_bytes}, 0, 0};
    ::ioctl(faults_.get(), UFFDIO_CONTINUE, &request);  // fails if it is there
  }
  void find_written(page_range among, std::vector<page_range>& into) override { log_.collect(among, false, into); }

 private:
  // A page that is there already has been opened by another thread, or by the same request before it was interrupted.
  void map(page_range pages, std::uint64_t mode) {
    auto from = reinterpret_cast<std::uint64_t>(address_of(pages.first));
    const auto end = reinterpret_cast<std::uint64_t>(address_of(pages.last));
    bool unprotected = false;  // those that were open
    while (from < end) {
      uffdio_continue request{{from, end - from}, mode, 0};
      if (::ioctl(faults_.get(), UFFDIO_CONTINUE, &request) == 0) return;
      const int why = errno;
      if (request.mapped > 0) from += static_cast<std::uint64_t>(request.mapped);
      if (why == EEXIST) {
        if (mode == 0 && !unprotected) write_protect(faults_.get(), base_, {page_of_address(from), pages.last}, false);
        unprotected = true;
        from += page_bytes;
      } else if (why == EFAULT) {  // there is no frame behind it yet
        if (::fallocate(file_, FALLOC_FL_KEEP_SIZE, static_cast<off_t>(from) - static_cast<off_t>(begin()),
                        static_cast<off_t>(end - from)) != 0)
          return;
      } else if (why != EAGAIN) {
        return;  // the access faults again, and says so again
      }
    }
  }

  std::uint64_t begin() const { return reinterpret_cast<std::uint64_t>(base_); }
  std::size_t page_of_address(std::uint64_t address) const { return (address - begin()) / page_bytes; }

  bool on_trap(void* address, bool write) override {
    if (!covers(address)) return false;
    const std::size_t page = page_of(address);
    // Protected, the access raises SIGSEGV when it is repeated, as it would with the other engine.
    if (!handler_.on_fault(page, write)) ::mprotect(address_of(page), page_bytes, PROT_NONE);
    return true;
  }

  mapping view_;
  const int file_;
  unique_fd faults_;
  kernel_write_log log_;
};

// A view of a file whose faults and first writes the kernel reports.
struct reported_view {
  mapping view;
  unique_fd faults;
  kernel_write_log log;
};

// At `base`, or anywhere if that is null.
result<reported_view> report(std::byte* base, std::size_t size, int file) {
  auto faults = open_userfaultfd(UFFD_FEATURE_SIGBUS | UFFD_FEATURE_MISSING_SHMEM | UFFD_FEATURE_MINOR_SHMEM);
  if (!faults) return faults.failure();
  const int fixed = base ? MAP_FIXED_NOREPLACE : 0;
  void* at = ::mmap(base, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | fixed, file, 0);
  if (at == MAP_FAILED || (base && at != base))
    return base::system_failure("mapping the shared region", at == MAP_FAILED ? errno : EEXIST);
  mapping view(static_cast<std::byte*>(at), size);
  leave_out_of_core_dumps(view);
  uffdio_register area{{reinterpret_cast<std::uint64_t>(at), size},
                       UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_MINOR | UFFDIO_REGISTER_MODE_WP,
                       0};
  if (::ioctl(faults->get(), UFFDIO_REGISTER, &area) != 0)
    return base::system_failure("registering the shared region with userfaultfd", errno);
  auto log = kernel_write_log::open(view.base());
  if (!log) return log.failure();
  return reported_view{std::move(view), std::move(*faults), std::move(*log)};
}

}  // namespace

status detail::uffd_works() {
  auto file = create_memory_file("weft trial", page_bytes);
  if (!file) return file.failure();
  return report(nullptr, page_bytes, file->get()).failure();
}

result<std::unique_ptr<page_engine>> detail::uffd_engine(std::byte* base, std::size_t size, int file,
                                                         page_engine::fault_handler& handler) {
  auto v = report(base, size, file);
  if (!v) return v.failure();
  auto engine = std::make_unique<uffd_page_engine>(std::move(v->view), file, std::move(v->faults), std::move(v->log), handler);
  if (auto started = engine->start(); !started) return started;
  return std::unique_ptr<page_engine>(std::move(engine));
}

}  // namespace weft::os
