// First writes found by protection: a tracked page is read-only until somebody writes to it, which raises SIGSEGV. The handler marks the
// page, lets the write through and returns; a fault elsewhere goes to the handler that was there before.
//
// The table of trackers is the one thing that the signal handler knows. Slots are published by a release store and found by acquire
// loads, which is all that a signal handler may do; a slot is emptied when nobody writes to its range any more, as the destructor asks.
#include <array>
#include <atomic>
#include <bit>
#include <csignal>
#include <mutex>

#include <sys/mman.h>

#include "os/write_tracker.h"

namespace weft::os {

namespace {

constexpr std::size_t most_trackers = 256;

class fault_tracker final : public write_tracker {
 public:
  fault_tracker(std::byte* base, std::size_t size)
      : write_tracker(base, size), words_((pages_ + 63) / 64), marks_(std::make_unique<std::atomic<std::uint64_t>[]>(words_)) {}
  ~fault_tracker() override;

  const char* name() const noexcept override { return "faults"; }

  // In the signal handler. Marked after it is writable: if it is protected between the two, it is marked and protected, and the write
  // faults again. The other way round it could end up writable without a mark.
  bool let_through(std::byte* at) noexcept {
    if (at < base_ || at >= base_ + pages_ * page_bytes) return false;
    const auto page = static_cast<std::size_t>(at - base_) / page_bytes;
    if (::mprotect(address_of(page), page_bytes, PROT_READ | PROT_WRITE) != 0) return false;
    marks_[page / 64].fetch_or(std::uint64_t{1} << page % 64);
    return true;
  }

  void written(std::vector<page_range>& into) override {
    for (std::size_t w = 0; w < words_; ++w)
      for (std::uint64_t bits = marks_[w].load(); bits != 0; bits &= bits - 1) {
        const std::size_t page = w * 64 + static_cast<std::size_t>(std::countr_zero(bits));
        if (!into.empty() && into.back().last == page)
          ++into.back().last;
        else
          into.push_back({page, page + 1});
      }
  }

  // Marks go first: a write that comes between the two is let through unmarked only if the page is still writable, and such a write is
  // before the protection, which the caller looks at the contents after.
  void protect(page_range pages) override {
    for (std::size_t p = pages.first; p < pages.last; ++p) marks_[p / 64].fetch_and(~(std::uint64_t{1} << p % 64));
    ::mprotect(address_of(pages.first), pages.count() * page_bytes, PROT_READ);
  }

  void take_written(std::vector<page_range>& into) override {
    const std::size_t before = into.size();
    written(into);
    for (std::size_t i = before; i < into.size(); ++i) protect(into[i]);
  }

 private:
  const std::size_t words_;
  std::unique_ptr<std::atomic<std::uint64_t>[]> marks_;
};

// What the signal handler sees.
std::array<std::atomic<fault_tracker*>, most_trackers> trackers;
struct sigaction previous;

void pass_on(int number, siginfo_t* info, void* context) {
  if (previous.sa_flags & SA_SIGINFO) return previous.sa_sigaction(number, info, context);
  if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) return previous.sa_handler(number);
  ::sigaction(SIGSEGV, &previous, nullptr);  // returning repeats the access, and the program ends as it would have without us
}

void on_fault(int number, siginfo_t* info, void* context) {
  if (info->si_code == SEGV_ACCERR)
    for (auto& slot : trackers)
      if (fault_tracker* t = slot.load(std::memory_order_acquire))  // pairs with the release in track_by_faults
        if (t->let_through(static_cast<std::byte*>(info->si_addr))) return;
  pass_on(number, info, context);
}

status install() {
  static std::once_flag once;
  static bool installed = false;
  std::call_once(once, [] {
    struct sigaction ours {};
    ours.sa_sigaction = on_fault;
    ours.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
    installed = ::sigaction(SIGSEGV, &ours, &previous) == 0;
  });
  return installed ? status() : status(errc::system, "cannot handle SIGSEGV, which write tracking needs on this kernel");
}

fault_tracker::~fault_tracker() {
  ::mprotect(base_, pages_ * page_bytes, PROT_READ | PROT_WRITE);
  for (auto& slot : trackers) {
    fault_tracker* self = this;
    slot.compare_exchange_strong(self, nullptr);
  }
}

}  // namespace

result<std::unique_ptr<write_tracker>> detail::track_by_faults(std::byte* base, std::size_t size) {
  if (auto ready = install(); !ready) return ready;
  auto tracker = std::make_unique<fault_tracker>(base, size);
  for (auto& slot : trackers) {
    fault_tracker* free = nullptr;
    // Release: the handler that finds the tracker finds it made. Then the pages are protected, so no fault comes before.
    if (!slot.compare_exchange_strong(free, tracker.get(), std::memory_order_release)) continue;
    tracker->protect({0, size / page_bytes});
    return std::unique_ptr<write_tracker>(std::move(tracker));
  }
  return {errc::too_large, "256 ranges are tracked already; end some first"};
}

}  // namespace weft::os
