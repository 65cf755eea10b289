// First writes found by protection: a tracked page is read-only until somebody writes to it, which raises SIGSEGV. The tracker marks the
// page and lets the write through.
#include <atomic>
#include <bit>
#include <csignal>

#include <sys/mman.h>

#include "os/fault_trap.h"
#include "os/write_tracker.h"

namespace weft::os {

namespace {

class fault_tracker final : public write_tracker, private trap_target {
 public:
  fault_tracker(std::byte* base, std::size_t size)
      : write_tracker(base, size), words_((pages_ + 63) / 64), marks_(std::make_unique<std::atomic<std::uint64_t>[]>(words_)) {}
  ~fault_tracker() override {
    ::mprotect(base_, pages_ * page_bytes, PROT_READ | PROT_WRITE);
    clear_trap(SIGSEGV, *this);
  }

  status start() {
    if (auto trapped = set_trap(SIGSEGV, *this); !trapped) return trapped;
    protect({0, pages_});
    return {};
  }

  const char* name() const noexcept override { return "faults"; }

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
  // Marked after it is writable: if it is protected between the two, it is marked and protected, and the write faults again. The other
  // way round it could end up writable without a mark.
  bool on_trap(void* address, bool) override {
    auto* at = static_cast<std::byte*>(address);
    if (at < base_ || at >= base_ + pages_ * page_bytes) return false;
    const auto page = static_cast<std::size_t>(at - base_) / page_bytes;
    if (::mprotect(address_of(page), page_bytes, PROT_READ | PROT_WRITE) != 0) return false;
    marks_[page / 64].fetch_or(std::uint64_t{1} << page % 64);
    return true;
  }

  const std::size_t words_;
  std::unique_ptr<std::atomic<std::uint64_t>[]> marks_;
};

}  // namespace

result<std::unique_ptr<write_tracker>> detail::track_by_faults(std::byte* base, std::size_t size) {
  auto tracker = std::make_unique<fault_tracker>(base, size);
  if (auto started = tracker->start(); !started) return started;
  return std::unique_ptr<write_tracker>(std::move(tracker));
}

}  // namespace weft::os
