// The application's view of a range of frames: which pages it may use, and which of them it has written.
//
// Two ways behind one interface, and one set of contract tests:
//   uffd      userfaultfd: a page that is closed has no page-table entry; opening it is UFFDIO_CONTINUE; first writes are
//             recorded by the kernel and collected with PAGEMAP_SCAN. No mapping is ever split, so the range is not limited by
//             vm.max_map_count. Linux 6.7.
//   mprotect  protection and SIGSEGV, everywhere else. The first write to a watched page is a fault like any other.
//
// A page is closed (any access faults), watched (reads are free, the first write is noted) or free (nothing is noted). All pages
// start closed. The frames behind the view are reached by the runtime through a mapping of its own, which never faults.
//
// A fault runs the handler on the thread that faulted, inside the signal; when the handler returns, the access is tried again. What
// the handler does must not need a lock that the interrupted program may hold: the program's own code faults, not the C library's
// insides.
//
// Threads: the application's threads may fault at any time. open, close, watch and find_written on different pages may run at once;
// on the same page the caller orders them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <weft/status.h>

#include "os/write_tracker.h"  // page_range, page_bytes

namespace weft::os {

class page_engine {
 public:
  enum class way : std::uint8_t { best, uffd, mprotect };

  // Which of the two is the best on this machine, found out by trying, and why.
  struct choice {
    way how;
    std::string why;
  };
  static choice best();

  // What happened: the page, and whether it was a write, as far as the processor says. False: there is no such page, and the access
  // ends in SIGSEGV like any other through a wild pointer.
  class fault_handler {
   public:
    virtual bool on_fault(std::size_t page, bool write) = 0;

   protected:
    ~fault_handler() = default;
  };

  // Maps [0, size) of `file` at `base`, which must be free, with all pages closed. The handler must outlive the engine.
  static result<std::unique_ptr<page_engine>> create(std::byte* base, std::size_t size, int file, fault_handler& handler,
                                                     way how = way::best);

  virtual ~page_engine() = default;
  page_engine(const page_engine&) = delete;
  page_engine& operator=(const page_engine&) = delete;

  virtual const char* name() const noexcept = 0;

  // Whether the first write to a watched page is recorded without a fault. Otherwise it comes to the handler, which answers with
  // note_write.
  virtual bool records_writes() const noexcept = 0;

  // The frames hold what the application is to see.
  virtual void open_watched(page_range pages) = 0;
  virtual void open_free(page_range pages) = 0;

  // The next access faults. The frames keep their contents.
  virtual void close(page_range pages) = 0;

  // Notes writes from now on; those noted before are forgotten. For pages that are open.
  virtual void watch(page_range pages) = 0;

  // Notes nothing from now on, as of free pages. For pages that are open.
  virtual void unwatch(page_range pages) { open_free(pages); }

  // A watched page's first write: lets it through and remembers it.
  virtual void note_write(std::size_t page) = 0;

  // An access to an open page has faulted: another thread has just opened it, or the kernel has paged it out. Makes it accessible
  // if it is not; it may count as written then, because the kernel has forgotten.
  virtual void reopen(std::size_t page) = 0;

  // Appends the pages of `among` that were written since they were last watched. Free and closed pages may be among those found: the
  // caller knows which are watched. Looks only; watch() then starts anew.
  virtual void find_written(page_range among, std::vector<page_range>& into) = 0;

  // Whether the address is in the view.
  bool covers(const void* p) const noexcept { return p >= base_ && p < base_ + pages_ * page_bytes; }

 protected:
  page_engine(std::byte* base, std::size_t size, fault_handler& handler) noexcept
      : base_(base), pages_(size / page_bytes), handler_(handler) {}
  std::byte* address_of(std::size_t page) const noexcept { return base_ + page * page_bytes; }
  std::size_t page_of(const void* p) const noexcept {
    return static_cast<std::size_t>(static_cast<const std::byte*>(p) - base_) / page_bytes;
  }

  std::byte* const base_;
  const std::size_t pages_;
  fault_handler& handler_;
};

namespace detail {
result<std::unique_ptr<page_engine>> uffd_engine(std::byte* base, std::size_t size, int file, page_engine::fault_handler& handler);
status uffd_works();  // tried on a page
result<std::unique_ptr<page_engine>> mprotect_engine(std::byte* base, std::size_t size, int file,
                                                     page_engine::fault_handler& handler);
}  // namespace detail

}  // namespace weft::os
