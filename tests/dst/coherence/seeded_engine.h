// A page engine without an MMU: the program's accesses come through access(), which asks the page's state and runs the fault handler
// as the processor and the kernel would.
//
// Both kinds of engine: one that records first writes by itself (uffd), one whose first writes are faults (mprotect). Now and then it
// forgets that a page is open, as a kernel that pages out.
#pragma once

#include <functional>

#include "base/random.h"
#include "os/memory_file.h"
#include "os/page_engine.h"

namespace dst {

class sim_engine final : public weft::os::page_engine {
 public:
  struct options {
    bool records_writes = false;
    double forgets = 0;  // chance, at an access, that the page has been paged out
    std::uint64_t seed = 1;
    std::function<void()> pause;  // another thread may go on here
  };
  using page_range = weft::os::page_range;

  sim_engine(const options& o, std::byte* base, std::size_t size, int file, fault_handler& handler);

  const char* name() const noexcept override { return options_.records_writes ? "sim-uffd" : "sim-mprotect"; }
  bool records_writes() const noexcept override { return options_.records_writes; }
  void open_watched(page_range pages) override;
  void open_free(page_range pages) override;
  void close(page_range pages) override;
  void watch(page_range pages) override;
  void note_write(std::size_t page) override;
  void reopen(std::size_t page) override;
  void find_written(page_range among, std::vector<page_range>& into) override;

  // --- the program's side ---------------------------------------------------------------------------------------------------------

  // Where the program finds a page, once it may use it. Valid until another thread goes on.
  std::byte* access(std::size_t page, bool write);

  // What the program would find there, or null if it would fault.
  const std::byte* look(std::size_t page) const;

 private:
  enum class state : std::uint8_t { closed, watched, free };
  struct view {
    state now = state::closed;
    bool written = false, forgotten = false;
  };

  void set(page_range pages, state to);

  const options options_;
  weft::base::random random_;
  weft::os::mapping frames_;
  std::vector<view> views_;
};

}  // namespace dst
