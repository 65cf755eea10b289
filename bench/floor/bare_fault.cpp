#include "bench/floor/bare_fault.h"

#include <cerrno>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "base/clock.h"
#include "base/text.h"
#include "bench/sides/duo.h"
#include "bench/sides/memory_side.h"
#include "os/kernel_write_log.h"

namespace weft::bench {
namespace {

using os::page_bytes;

// What the handler needs. Set before the faults and left alone during them.
struct {
  resolution by;
  int faults;
  std::byte* elsewhere;
} handling;

// Reads a byte through a register that the handler knows.
#if defined(__x86_64__)
void read_byte(const std::byte* at) {
  asm volatile("movb (%%rdi), %%al" : "+D"(at) : : "rax", "memory");
}
void point_at(ucontext_t& context, std::byte* at) {
  context.uc_mcontext.gregs[REG_RDI] = reinterpret_cast<greg_t>(at);
}
#elif defined(__aarch64__)
void read_byte(const std::byte* at) {
  register const std::byte* from asm("x0") = at;
  asm volatile("ldrb w1, [x0]" : "+r"(from) : : "x1", "memory");
}
void point_at(ucontext_t& context, std::byte* at) {
  context.uc_mcontext.regs[0] = reinterpret_cast<std::uint64_t>(at);
}
#else
#error "which register holds the address of a read, and where a signal handler finds it"
#endif

void on_fault(int, siginfo_t* info, void* context) {
  const auto page = reinterpret_cast<std::uint64_t>(info->si_addr) & ~std::uint64_t{page_bytes - 1};
  switch (handling.by) {
    case resolution::trapped: point_at(*static_cast<ucontext_t*>(context), handling.elsewhere); break;
    case resolution::continued: {
      uffdio_continue request{{page, page_bytes}, 0, 0};
      if (::ioctl(handling.faults, UFFDIO_CONTINUE, &request) != 0) std::abort();
      break;
    }
    case resolution::protected_again:
      if (::mprotect(reinterpret_cast<void*>(page), page_bytes, PROT_READ) != 0) std::abort();
      break;
  }
}

// Catches a signal for as long as it lives, with the flags that weft's own trap has.
class catching {
 public:
  explicit catching(int number) : number_(number) {
    struct sigaction ours {};
    ours.sa_sigaction = on_fault;
    ours.sa_flags = SA_SIGINFO | SA_NODEFER | SA_RESTART;
    if (::sigaction(number, &ours, &before_) != 0) base::system_failure("cannot catch a signal", errno).or_throw();
  }
  ~catching() { ::sigaction(number_, &before_, nullptr); }
  catching(const catching&) = delete;
  catching& operator=(const catching&) = delete;

 private:
  const int number_;
  struct sigaction before_;
};

template <resolution By, auto Pages = &memory_side::scattered>
timing faults(duo& d, std::size_t, std::uint64_t count) {
  timing t;
  auto& side = d.pages();
  in_rounds(count, [&](std::size_t pages) { t.whole += side.faults().take(By, (side.*Pages)(pages)); });
  return t;
}

void nothing(duo&, std::size_t, std::uint64_t) {}

constexpr operation list[] = {
    {"fault_trap", faults<resolution::trapped>, nothing},
    {"fault_continue", faults<resolution::continued>, nothing},
    {"fault_mprotect", faults<resolution::protected_again>, nothing},
    {"fault_mprotect_in_order", faults<resolution::protected_again, &memory_side::in_order>, nothing},
};

}  // namespace

bare_faults::bare_faults(std::size_t pages) {
  const std::size_t size = pages * page_bytes;
  file_ = os::create_memory_file("weft-bench-faults", size).or_throw();
  frames_ = os::map_file(file_.get(), 0, size, true).or_throw();
  caught_ = os::map_file(file_.get(), 0, size, true).or_throw();
  denied_ = os::map_file(file_.get(), 0, size, true).or_throw();
  std::memset(frames_.base(), 1, size);
  std::memset(denied_.base(), 1, size);  // its page tables are there, as they are after a first use
  std::memset(caught_.base(), 1, size);
  if (auto opened = os::open_userfaultfd(UFFD_FEATURE_SIGBUS | UFFD_FEATURE_MISSING_SHMEM | UFFD_FEATURE_MINOR_SHMEM); opened) {
    uffdio_register area{
        {reinterpret_cast<std::uint64_t>(caught_.base()), size}, UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_MINOR, 0};
    if (::ioctl(opened->get(), UFFDIO_REGISTER, &area) == 0) faults_ = std::move(*opened);
  }
}

double bare_faults::take(resolution by, std::span<const std::uint32_t> pages) {
  const bool denied = by == resolution::protected_again || !faults_;
  if (by == resolution::continued && !faults_) throw error(errc::unavailable, "there is no userfaultfd to measure");
  auto& range = denied ? denied_ : caught_;
  if (denied)
    ::mprotect(range.base(), range.size(), PROT_NONE);
  else
    ::madvise(range.base(), range.size(), MADV_DONTNEED);
  handling = {by, faults_.get(), frames_.base()};
  const catching now(denied ? SIGSEGV : SIGBUS);
  const auto start = base::now();
  for (const auto page : pages) read_byte(range.base() + page * page_bytes);
  return static_cast<double>(base::now() - start);
}

std::span<const operation> bare_fault_operations() {
  return list;
}

}  // namespace weft::bench
