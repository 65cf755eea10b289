// page_profile: what happens to each page of a node's memory, for the report and for `weft top`. It stands between a protocol and its
// pages and lets everything through, so no protocol knows of it.
//
// While it is off, which it is at first, that costs a branch. While it is on, it counts, and it notes which bytes were written: by this
// node, from the changes that a protocol takes anyway; by others, by comparing the copy that this node had with the one that it gets
// next. Both are looked at often at first and then seldom, page by page. Of the home's own writes only the number is known here; which
// bytes they were, the others see.
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

#include "dsm/pages.h"

namespace weft::dsm {

class page_profile final : public pages {
 public:
  static constexpr std::size_t most_pages = 65536, most_copies = 2048;
  static constexpr std::size_t grain = 4;  // bytes that are told apart
  using byte_set = std::bitset<page_bytes / grain>;

  explicit page_profile(pages& of) noexcept : pages_(of) {}

  void turn_on() noexcept { on_.store(true, std::memory_order_relaxed); }  // relaxed: counting may begin a little late

  // The application accessed a page that its view does not let it.
  void fault(page_id p, bool write) {
    if (on()) [[unlikely]]
      note_fault(p, write);
  }

  struct use {
    page_id page = 0;
    bool home = false;  // it was at home here, the last time that it was opened
    std::uint32_t read_faults = 0, write_faults = 0;
    std::uint32_t fetches = 0;        // times that a copy came, also ahead of its use
    std::uint32_t writes = 0;         // times that it was found written; a home that is not watched is not asked
    std::uint64_t changed_bytes = 0;  // that went away
    byte_set written, by_others;      // empty for the home
    std::uint64_t cost() const noexcept { return std::uint64_t{fetches} + writes + read_faults + write_faults; }
  };
  // At most so many, those with the highest cost first.
  std::vector<use> used(std::size_t most) const;
  std::size_t count_used() const;

  // --- pages ----------------------------------------------------------------------------------------------------------------------

  page_id count() const noexcept override { return pages_.count(); }
  memory frames() const noexcept override { return pages_.frames(); }
  const char* engine() const noexcept override { return pages_.engine(); }
  page_id most_at_once() const noexcept override { return pages_.most_at_once(); }
  bool may_be_written(page_id p) const noexcept override { return pages_.may_be_written(p); }
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
  struct bytes_seen {
    byte_set written, by_others;
    std::unique_ptr<std::array<std::byte, page_bytes>> copy;  // as it was closed, if that is to be compared
    bool compared = true;                                     // or there is nothing to compare
  };
  struct record {
    use counts;  // without its sets
    std::unique_ptr<bytes_seen> seen;
  };

  bool on() const noexcept { return on_.load(std::memory_order_relaxed); }
  record* find(page_id p);  // null: there are too many
  void note_fault(page_id p, bool write);
  void note_home(extent e);
  static bool worth_a_look(std::uint32_t times) { return times <= 32 || times % 16 == 0; }

  pages& pages_;
  std::atomic<bool> on_{false};
  mutable std::mutex lock_;  // guards what follows; nothing is waited for under it
  std::unordered_map<page_id, record> records_;
  std::size_t copies_ = 0;
};

}  // namespace weft::dsm
