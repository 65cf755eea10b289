// Which pages of a range have been written: the kernel's own record of first writes where it has one, protection and faults elsewhere.
//
// Two ways behind one interface:
//   kernel   userfaultfd in asynchronous write-protect mode, collected by PAGEMAP_SCAN (Linux 6.7): a first write costs under a
//            microsecond and no signal.
//   faults   mprotect and SIGSEGV, everywhere else. A fault that is not about a tracked page goes to whoever handled it before.
//
// A page is either protected, so that its next write is recorded, or it counts as written, and further writes cost nothing. All pages
// start protected. A reader that does not want to miss a write protects first and looks at the contents afterwards.
//
// Threads: any may write to the range. written(), protect() and take_written() are called by one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <weft/status.h>

namespace weft::os {

inline constexpr std::size_t page_bytes = 4096;

// Pages [first, last) of the range.
struct page_range {
  std::size_t first = 0, last = 0;
  std::size_t count() const noexcept { return last - first; }
  bool operator==(const page_range&) const = default;
};

class write_tracker {
 public:
  enum class way : std::uint8_t { best, kernel, faults };

  // Tracks [base, base + size), whole pages of private or memfd memory that is readable and writable and stays mapped meanwhile.
  static result<std::unique_ptr<write_tracker>> create(std::byte* base, std::size_t size, way how = way::best);

  virtual ~write_tracker() = default;
  write_tracker(const write_tracker&) = delete;
  write_tracker& operator=(const write_tracker&) = delete;

  virtual const char* name() const noexcept = 0;

  // Appends the pages that count as written, in order, neighbours joined. They keep counting as written.
  virtual void written(std::vector<page_range>& into) = 0;

  // Protects pages: the next write to each is recorded.
  virtual void protect(page_range pages) = 0;

  // Appends the pages that count as written and protects them, without missing a write in between.
  virtual void take_written(std::vector<page_range>& into) = 0;

 protected:
  write_tracker(std::byte* base, std::size_t size) noexcept : base_(base), pages_(size / page_bytes) {}
  std::byte* address_of(std::size_t page) const noexcept { return base_ + page * page_bytes; }

  std::byte* const base_;
  const std::size_t pages_;
};

// Whether this kernel offers the first way.
bool kernel_records_writes() noexcept;

namespace detail {
result<std::unique_ptr<write_tracker>> track_by_kernel(std::byte* base, std::size_t size);
result<std::unique_ptr<write_tracker>> track_by_faults(std::byte* base, std::size_t size);
}  // namespace detail

}  // namespace weft::os
