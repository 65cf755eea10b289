// What a node knows of each page, in eight bytes: who its home is, whether the view has it open and how, and which thread works on
// it.
//
// The table is lazily backed memory, so pages that nobody uses cost nothing. An entry is held while its page changes state: a fault
// that finds it held waits.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include <weft/port.h>

#include "dsm/page_set.h"
#include "dsm/pages.h"
#include "dsm/waiting.h"
#include "os/memory_file.h"

namespace weft::dsm {

enum class view : std::uint8_t { closed, cached, watched, free, mirrored };

class page_table {
 public:
  struct entry {
    std::atomic<std::uint8_t> held;
    view now;                   // guarded by held; changed by show()
    bool settled;               // guarded by held: `home` is home, or knows where the page has gone
    std::uint32_t home_plus_1;  // guarded by held; 0: not known
  };
  static_assert(sizeof(entry) == 8);

  static result<std::unique_ptr<page_table>> create(page_id pages, port& p);

  // Holds an entry for as long as it lives.
  class hold {
   public:
    hold(page_table& table, page_id p) : table_(table), entry_(table.entries_[p]) { table.take(entry_); }
    ~hold() { table_.give(entry_); }
    hold(const hold&) = delete;
    hold& operator=(const hold&) = delete;
    entry* operator->() const noexcept { return &entry_; }
    entry& operator*() const noexcept { return entry_; }

   private:
    page_table& table_;
    entry& entry_;
  };

  // The view of a page whose entry the caller holds has changed.
  void show(page_id p, view v) {
    entries_[p].now = v;
    std::scoped_lock lock(open_lock_);
    if (v == view::closed)
      open_.erase(p);
    else
      open_.insert(p);
  }

  // The first page from `p` on that the view has open, or the number of pages.
  page_id next_open(page_id p) {
    std::scoped_lock lock(open_lock_);
    return open_.next(p);
  }

  // For who holds several at a time, in ascending order.
  void take(page_id p) { take(entries_[p]); }

  // Without waiting; for looking ahead. Sequentially consistent: whoever fails may have said before what is to be done for it, and the
  // holder looks for that after giving.
  bool try_take(page_id p) { return !entries_[p].held.exchange(1); }
  void give(page_id p) { give(entries_[p]); }
  entry& peek(page_id p) noexcept { return entries_[p]; }

 private:
  page_table(os::mapping where, page_set open, port& p)
      : where_(std::move(where)), entries_(reinterpret_cast<entry*>(where_.base())), port_(p), open_(std::move(open)) {}

  // Acquire pairs with the release in give.
  void take(entry& e) {
    if (!e.held.exchange(1, std::memory_order_acquire)) [[likely]]
      return;
    waiters_.fetch_add(1);
    // Whoever holds an entry waits for the network at most, and that ends. A condition may be asked again after it has held.
    bool taken = false;
    while (
        !port_.wait([&] { return taken || (taken = !e.held.exchange(1, std::memory_order_acquire)); }, std::chrono::seconds(1))) {
    }
    waiters_.fetch_sub(1);
  }
  void give(entry& e) {
    e.held.store(0);  // sequentially consistent: before the look at waiters_
    if (waiters_.load() != 0) port_.nudge(port_.self()).ignore();
  }

  os::mapping where_;
  entry* entries_;
  port& port_;
  std::atomic<std::uint32_t> waiters_{0};
  os::spin_lock open_lock_;  // guards open_
  page_set open_;
};

}  // namespace weft::dsm
