// pages on real memory: frames in a memory file, a page engine for the application's view of them, twins to compare with.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>

#include "dsm/page_set.h"
#include "dsm/pages.h"
#include "os/memory_file.h"
#include "os/page_engine.h"
#include "os/spin.h"
#include "hooks/store_map.h"

namespace weft::dsm {

// Makes the engine of a view at `base` of `size` bytes of a file.
using engine_maker = std::function<result<std::unique_ptr<os::page_engine>>(std::byte* base, std::size_t size, int file)>;

class real_pages final : public pages {
 public:
  // The view at `base`. The frames are in `file`, which others may have as well, or in one of this node's own.
  static result<std::unique_ptr<real_pages>> create(std::byte* base, page_id count, const engine_maker& make_engine,
                                                    os::unique_fd file = os::unique_fd());

  // The program's stores are reported, by the compiler's hooks or to the map itself: there are no twins from now on, and what was
  // changed in a copy is what was stored. For protocols that mirror no pages. Before any page is open.
  hooks::store_map& take_reports(bool from_hooks);

  ~real_pages() override;

  page_id count() const noexcept override { return count_; }
  memory frames() const noexcept override { return {system_.base(), system_.size(), file_.get(), 0}; }
  const char* engine() const noexcept override { return engine_->name(); }

  void open_cached(extent e) override;
  void open_watched(extent e) override;
  void open_free(extent e) override;
  void close(extent e) override;
  void watch(extent e) override;
  void mirror(extent e) override;
  void first_write(page_id p) override;
  void reopen(page_id p) override { engine_->reopen(p); }
  void take_written(std::vector<page_id>& into) override;
  bool take_changes(page_id p, changes& into) override;
  void update(const patch& changed) override;
  void read(page_id p, std::byte* into) override;

 private:
  real_pages() = default;
  bool take_stores(page_id p, changes& into);

  // Guarded by the page's entry, which the caller holds.
  std::uint32_t& twin_place(page_id p) const noexcept { return reinterpret_cast<std::uint32_t*>(twin_places_.base())[p]; }
  std::byte* twin(page_id p) const noexcept { return twins_.base() + std::size_t{twin_place(p) - 1} * page_bytes; }
  void note_exactly(extent e);
  void make_twin(page_id p);
  bool twinned(page_id p);
  os::spin_lock& twin_lock(page_id p) noexcept { return twin_locks_[p % twin_locks_.size()]; }

  page_id count_ = 0;
  std::byte* base_ = nullptr;  // of the view
  os::unique_fd file_;
  os::mapping system_;                        // the frames, always readable and writable
  os::mapping twins_;                         // lazily backed, close together whichever pages they are of
  os::mapping twin_places_;                   // by page: where its twin is, from 1 on
  std::atomic<std::uint32_t> twins_used_{0};  // relaxed would do: only the number counts
  std::unique_ptr<os::page_engine> engine_;
  std::unique_ptr<hooks::store_map> stores_;  // null: twins are compared

  std::array<os::spin_lock, 64>
      twin_locks_;           // by page: the twin's contents, and whether it is the open copy's; taken before sets_lock_
  os::spin_lock sets_lock_;  // guards the sets
  page_set noted_;           // cached and watched: to be asked what was written
  page_set cached_;
  page_set twinned_;  // the twin is that of the copy that is open, or was closed last
};

}  // namespace weft::dsm
