// pages of the simulated machine. The data is kept once, by the program itself; what is simulated is who may use it, and what that costs.
//
// So the frames that protocols copy between nodes are one piece of memory that all nodes share and nobody reads: a copy onto itself.
// What a node wrote is known from the references: a dirty bit for each word of four bytes. Its diffs are what differs from the twin among
// these words.
//
// Two ways to note writes. Without an interface that forwards writes, the first write to a page is a fault, twins are made and diffs
// taken (Cashmere 2.1); lrc may let the page stay writable until then, as TreadMarks does. With one, the page table's dirty bits are
// enough, and what was written is at its home already (Cashmere 2.2).
#pragma once

#include <array>
#include <bitset>
#include <memory>
#include <unordered_map>
#include <vector>

#include "dsm/pages.h"
#include "os/page_engine.h"
#include "sim/machine/processor.h"

namespace weft::sim {

class machine_pages final : public dsm::pages {
 public:
  using page_id = dsm::page_id;
  using extent = dsm::extent;

  machine_pages(machine& in, processor& on, memory frames, os::page_engine::fault_handler& handler);

  page_id count() const noexcept override { return static_cast<page_id>(flags_.size()); }
  memory frames() const noexcept override { return frames_; }
  const char* engine() const noexcept override { return "simulated"; }
  void open_cached(extent e) override { open(e, noted); }
  void open_watched(extent e) override { open(e, home | noted); }
  void open_free(extent e) override { open(e, home); }
  void close(extent e) override;
  bool may_be_written(page_id p) override { return !knows_written_ || (flags_[p] & written_free) != 0; }
  void watch(extent e) override;
  void first_write(page_id p) override;
  void reopen(page_id) override {}
  page_id most_at_once() const noexcept override;
  void take_written(std::vector<page_id>& into) override;
  bool take_changes(page_id p, dsm::changes& into) override;
  void mirror(extent e) override;
  void update(const dsm::patch& from) override;
  void read(page_id p, std::byte* into) override;

  // --- by the processor ---------------------------------------------------------------------------------------------------------------

  bool allows(std::uint64_t page, bool write) const noexcept {
    const std::uint8_t f = flags_[page];
    return (f & is_open) != 0 && (!write || !first_writes_fault_ || (f & (noted | is_written)) != noted);
  }
  bool fault(std::uint64_t page, bool write) { return handler_.on_fault(page, write); }  // false: there is no such page
  void note_write(std::uint64_t offset, std::uint64_t size);

  // Where the memory is that the page is a view of: this node's if it is home, else the node that it was fetched from.
  node_id memory_of(std::uint64_t page) const noexcept { return (flags_[page] & home) != 0 ? self_.self() : fetched_from_[page]; }
  void fetched(std::uint64_t page, node_id from) noexcept { fetched_from_[page] = static_cast<std::uint16_t>(from); }

  // A page is mapped whose lines software will fetch.
  void set_up_errors();

  // Whether the line has not been asked for since the page was opened; it has, from now on.
  bool first_use_of_line(std::uint64_t page, std::uint64_t line);

 private:
  enum : std::uint8_t {
    is_open = 1,
    home = 2,
    noted = 4,          // writes are
    is_written = 8,     // since it was opened or taken
    changed = 16,       // and its changes were not taken
    mirrored = 32,      // its changes are known although it is at home here
    written_free = 64,  // since written pages were last taken, while writes were not noted: the page table's dirty bit
  };
  static constexpr std::size_t word_bytes = 4, words = dsm::page_bytes / word_bytes;

  // What a diff is made of: the page as it was before this node wrote to it, and what it wrote to.
  struct written_page {
    std::array<std::uint32_t, words> twin;
    std::bitset<words> dirty;
  };

  void open(extent e, unsigned how);
  written_page& twinned(page_id p);
  static const std::byte* program_memory(page_id p) noexcept;

  machine& machine_;
  processor& self_;
  const memory frames_;
  os::page_engine::fault_handler& handler_;
  const bool first_writes_fault_;
  const bool knows_written_;  // Cashmere 2.2: a release looks at the dirty bits of all pages
  const bool told_once_;      // a written page stays writable until its changes are taken
  std::vector<std::uint8_t> flags_;
  std::vector<std::uint16_t> fetched_from_;
  std::vector<page_id> written_;  // since they were last taken, with some that have been closed since
  std::vector<page_id> written_free_;
  std::unordered_map<page_id, std::unique_ptr<written_page>> written_pages_;
  std::unordered_map<page_id, std::bitset<dsm::page_bytes / 8>> used_lines_;
};

}  // namespace weft::sim
