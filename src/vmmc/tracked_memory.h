// Automatic update by write tracking: the kernel says which pages were written, a comparison with their twins which words.
//
// A page that keeps changing stays unprotected and is compared in every pass; that costs less than a fault for each pass. When a
// comparison finds nothing, the page is protected again and compared once more, because a store may have come in between.
#pragma once

#include <memory>
#include <vector>

#include "os/memory_file.h"
#include "os/write_tracker.h"
#include "vmmc/bound_memory.h"

namespace weft::communication {

class tracked_memory final : public bound_memory {
 public:
  static result<std::shared_ptr<bound_memory>> make(updater& by, const imported& to, std::uint64_t offset, std::size_t size,
                                                    const binding_options& options);

  tracked_memory(updater& by, const imported& to, std::uint64_t offset, const binding_options& options, mutable_bytes bound,
                 os::mapping own, os::mapping twins, std::unique_ptr<os::write_tracker> tracker)
      : bound_memory(by, to, offset, options),
        bound_(bound),
        own_(std::move(own)),
        twins_(std::move(twins)),
        tracker_(std::move(tracker)) {}

  mutable_bytes memory() const noexcept override { return bound_; }
  update_way way() const noexcept override { return update_way::tracked; }

 private:
  void collect(std::vector<run>& runs, bool own_thread) override;
  void end() override { tracker_.reset(); }
  void compare(os::page_range pages, std::vector<run>& runs);
  bool take_changes(std::size_t page, std::vector<run>& runs);

  const mutable_bytes bound_;
  os::mapping own_;    // empty when the program brought its memory
  os::mapping twins_;  // what was sent last
  std::unique_ptr<os::write_tracker> tracker_;
  std::vector<os::page_range> written_, quiet_;
};

}  // namespace weft::communication
