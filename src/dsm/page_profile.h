// page_profile: what happens to each page of a node's memory, for the report and for `weft top`. It stands between a protocol and its
// pages and lets everything through, so no protocol knows of it.
//
// While it is off, which it is at first, that costs a branch. While it is on, it counts, in a table that takes no lock, and if it is told to
// notes which bytes were written: by this node, from the changes that a protocol takes anyway; by others, by comparing the copy that this
// node had with the one that it gets next. Both are looked at ever more seldom, page by page, and not at all while that has taken more
// than a quarter of a percent of the time. Of the home's own writes only the number is known here; which bytes they were, the others see.
//
// Bounded: after most_pages pages, further ones are not kept; copies to compare with are kept of most_copies pages that this node
// writes.
//
// Threads: any, as pages.
#pragma once

#include <array>
#include <atomic>
#include <bitset>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "dsm/pages.h"
#include "os/memory_file.h"

namespace weft::dsm {

class page_profile final : public pages {
 public:
  static constexpr std::size_t most_pages = 65536, most_copies = 2048;
  static constexpr std::size_t grain = 4;  // bytes that are told apart
  using byte_set = std::bitset<page_bytes / grain>;

  static result<std::unique_ptr<page_profile>> create(pages& of);

  enum class depth : std::uint8_t { counts, bytes };
  void turn_on(depth d = depth::bytes) noexcept;  // and not off again

  // Something will be counted for a page soon: its record may come into the cache meanwhile, since it seldom is.
  void expect(page_id p) const noexcept {
    if (on()) [[unlikely]]
      __builtin_prefetch(&records_[p], 1);
  }

  // The application accessed a page that its view does not let it.
  void fault(page_id p, bool write) {
    if (on()) [[unlikely]]
      note_fault(p, write);
  }

  struct counts {
    bool home = false;  // it was at home here, the last time that it was opened
    std::uint32_t read_faults = 0, write_faults = 0;
    std::uint32_t fetches = 0;        // times that a copy came, also ahead of its use
    std::uint32_t writes = 0;         // times that it was found written; a home that is not watched is not asked
    std::uint64_t changed_bytes = 0;  // that went away
    std::uint64_t cost() const noexcept { return std::uint64_t{fetches} + writes + read_faults + write_faults; }
  };
  struct use : counts {
    page_id page = 0;
    byte_set written, by_others;  // empty for the home
  };
  // At most so many, those with the highest cost first.
  std::vector<use> used(std::size_t most) const;
  std::size_t count_used() const;

  // What counting and looking have cost so far, in threads' time. Counting is measured for one call in 61.
  base::nanoseconds cost() const noexcept {
    return cost_of_counting_.load(std::memory_order_relaxed) + cost_of_looking_.load(std::memory_order_relaxed);
  }

  // --- pages ----------------------------------------------------------------------------------------------------------------------

  page_id count() const noexcept override { return pages_.count(); }
  memory frames() const noexcept override { return pages_.frames(); }
  const char* engine() const noexcept override { return pages_.engine(); }
  page_id most_at_once() const noexcept override { return pages_.most_at_once(); }
  bool may_be_written(page_id p) override;
  void open_cached(extent e) override;
  void open_watched(extent e) override;
  void open_free(extent e) override;
  void close(extent e) override;
  void watch(extent e) override;
  void mirror(extent e) override { pages_.mirror(e); }
  void update(const patch& changed) override { pages_.update(changed); }
  void read(page_id p, std::byte* into) override { pages_.read(p, into); }
  void first_write(page_id p) override { pages_.first_write(p); }
  void reopen(page_id p) override { pages_.reopen(p); }
  void take_written(std::vector<page_id>& into) override;
  bool take_changes(page_id p, changes& into) override;

 private:
  // One page's numbers. Relaxed: they order nothing, and a reader gets what was true a moment ago.
  struct alignas(32) record {
    std::atomic<bool> kept, home;
    std::atomic<bool> looked_at;   // there are bytes_seen of it
    std::atomic<bool> to_compare;  // with the next copy
    std::atomic<std::uint32_t> read_faults, write_faults, fetches, writes;
    std::atomic<std::uint64_t> changed_bytes;
  };
  struct bytes_seen {
    byte_set written, by_others;
    std::unique_ptr<std::array<std::byte, page_bytes>> copy;  // as it was closed, if that is or was to be compared
  };

  class stopwatch;

  page_profile(pages& of, os::mapping table) noexcept
      : pages_(of), table_(std::move(table)), records_(reinterpret_cast<record*>(table_.base())) {}
  bool on() const noexcept { return on_.load(std::memory_order_relaxed); }  // relaxed: counting may begin a little late
  record* keep(page_id p);                                                  // null: there are too many
  void note_fault(page_id p, bool write);
  void note_fetch(extent e);
  void note_close(extent e);
  void note_home(extent e);
  void note_copied(extent e);
  void note_changes(page_id p, const changes& all, std::size_t had, std::size_t had_bytes);
  void compare(page_id p);
  counts counts_of(page_id p) const noexcept;
  bool worth_a_look(std::uint32_t times) const noexcept;

  pages& pages_;
  std::atomic<bool> on_{false};
  base::nanoseconds since_ = 0;                                              // written before looks_ is set
  std::atomic<bool> looks_{false};                                           // at bytes
  std::atomic<base::nanoseconds> cost_of_counting_{0}, cost_of_looking_{0};  // relaxed, as in record
  const os::mapping table_;
  record* const records_;          // of every page; zeroed, and not touched where nothing happens
  std::atomic<bool> full_{false};  // most_pages are kept; relaxed: who sees it late takes the lock once more
  mutable std::mutex lock_;        // guards what follows; nothing is waited for under it
  std::vector<page_id> kept_;
  std::unordered_map<page_id, bytes_seen> seen_;
  std::size_t copies_ = 0;
};

}  // namespace weft::dsm
