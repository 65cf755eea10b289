#include "sim/machine/machine_pages.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "space/region.h"
#include "sim/machine/machine.h"

namespace weft::sim {

machine_pages::machine_pages(machine& in, processor& on, memory frames, os::page_engine::fault_handler& handler)
    : machine_(in),
      self_(on),
      frames_(frames),
      handler_(handler),
      first_writes_fault_(in.interface_of_nodes() == nullptr),
      knows_written_(machine_options::is_cashmere(in.options().protocol)),
      told_once_(in.options().protocol == "lrc" && in.numbers().told_once != 0),
      flags_(in.numbers().memory_pages),
      fetched_from_(in.numbers().memory_pages) {}

void machine_pages::open(extent e, unsigned how) {
  for (page_id p = e.first; p < e.last; ++p) {
    flags_[p] = static_cast<std::uint8_t>((flags_[p] & changed) | is_open | how);
    if ((flags_[p] & changed) == 0) written_pages_.erase(p);  // a copy that came anew has no twin
  }
  if (!first_writes_fault_ && (how & home) != 0) self_.charge(cost::protocol, machine_.numbers().directory * e.count());
}

dsm::page_id machine_pages::most_at_once() const noexcept {
  return static_cast<page_id>(machine_.numbers().fetch_ahead);
}

// Cashmere 2.2, self-invalidation: the mapping goes, and the lines with it.
void machine_pages::close(extent e) {
  for (page_id p = e.first; p < e.last; ++p) {
    self_.purge(p);
    flags_[p] &= changed;
    used_lines_.erase(p);
  }
}

// Cashmere 2.3: addresses are mapped to a local page that has been set up to give an ECC error wherever it is used. Section 6 would have another
// processor fill unused pages so in advance; there is none, so whoever maps the page fills it, line by line.
void machine_pages::set_up_errors() {
  const auto& n = machine_.numbers();
  self_.charge(cost::protocol, dsm::page_bytes / n.line_bytes * n.line_fill());
}

void machine_pages::watch(extent e) {
  for (page_id p = e.first; p < e.last; ++p) flags_[p] = static_cast<std::uint8_t>((flags_[p] & ~unsigned{is_written}) | noted);
}

void machine_pages::mirror(extent e) {
  watch(e);
  for (page_id p = e.first; p < e.last; ++p) flags_[p] |= mirrored;
}

void machine_pages::update(const dsm::patch& from) {
  if (const auto found = written_pages_.find(from.page()); found != written_pages_.end())
    from.apply(reinterpret_cast<std::byte*>(found->second->twin.data()), nullptr);
  std::uint64_t bytes = 0;
  from.for_ranges([&](std::size_t, std::size_t size) { bytes += size; });
  self_.charge(cost::diff, machine_.numbers().diffing * bytes / 4);
}

void machine_pages::read(page_id p, std::byte* into) {
  const bytes all = frame(p);
  std::copy(all.begin(), all.end(), into);
}

machine_pages::written_page& machine_pages::twinned(page_id p) {
  auto& w = written_pages_[p];
  if (!w) {
    w = std::make_unique<written_page>();
    std::memcpy(w->twin.data(), program_memory(p), dsm::page_bytes);
  }
  return *w;
}

void machine_pages::first_write(page_id p) {
  if (!first_writes_fault_ || (flags_[p] & is_written) != 0) return;
  flags_[p] |= is_written;
  written_.push_back(p);
  if ((flags_[p] & changed) != 0 || (flags_[p] & (home | mirrored)) == home) return;
  twinned(p);
  self_.charge(cost::diff, machine_.numbers().twinning * words);
  self_.compare_with_twin(p);
}

void machine_pages::note_write(std::uint64_t offset, std::uint64_t size) {
  const auto p = static_cast<page_id>(offset / dsm::page_bytes);
  std::uint8_t& f = flags_[p];
  if ((f & noted) == 0) {
    if ((f & written_free) == 0) written_free_.push_back(p);
    f |= written_free;
    return;
  }
  if ((f & is_written) == 0) {
    f |= is_written;
    written_.push_back(p);
  }
  if ((f & (home | mirrored)) == home) return;
  f |= changed;
  if (!first_writes_fault_) return;
  auto& dirty = twinned(p).dirty;
  const std::uint64_t first = offset % dsm::page_bytes, last = first + size - 1;
  for (std::uint64_t w = first / word_bytes; w <= last / word_bytes && w < words; ++w) dirty.set(w);
}

// Cashmere 2.2: a release does for every page that was written what a write fault would have done to its directory entry.
void machine_pages::take_written(std::vector<page_id>& into) {
  const std::size_t before = into.size();
  if (!first_writes_fault_) self_.flush();
  std::sort(written_.begin(), written_.end());
  written_.erase(std::unique(written_.begin(), written_.end()), written_.end());
  for (const page_id p : written_) {
    if ((flags_[p] & (noted | is_written)) != (noted | is_written)) continue;
    if (!told_once_) flags_[p] &= static_cast<std::uint8_t>(~unsigned{is_written});
    into.push_back(p);
  }
  written_.clear();
  for (const page_id p : written_free_) flags_[p] &= static_cast<std::uint8_t>(~unsigned{written_free});
  written_free_.clear();
  if (!first_writes_fault_) self_.charge(cost::protocol, machine_.numbers().directory * (into.size() - before));
}

// What was forwarded as it was written needs no diff. A diff is what differs from the twin, among the words that this node wrote: the
// others' are in the one memory that there is, and not in this node's copy.
bool machine_pages::take_changes(page_id p, dsm::changes& into) {
  if ((flags_[p] & changed) == 0) return false;
  flags_[p] &= static_cast<std::uint8_t>(told_once_ ? ~unsigned{changed | is_written} : ~unsigned{changed});
  if (!first_writes_fault_) return true;
  self_.charge(cost::diff, machine_.numbers().diffing * words);
  self_.compare_with_twin(p);
  written_page& w = *written_pages_[p];
  auto now = w.twin;
  for (std::size_t i = 0; i < words; ++i)
    if (w.dirty[i]) std::memcpy(&now[i], program_memory(p) + i * word_bytes, word_bytes);
  w.dirty.reset();
  auto before = std::exchange(w.twin, now);
  if (machine_.numbers().diff_grain != 1)
    for (std::size_t i = 0; i < words; ++i)
      if (before[i] != now[i]) before[i] = ~now[i];  // in all of its bytes
  return into.add(p, reinterpret_cast<const std::byte*>(now.data()), reinterpret_cast<std::byte*>(before.data()));
}

const std::byte* machine_pages::program_memory(page_id p) noexcept {
  return runtime::region_base + std::size_t{p} * dsm::page_bytes;
}

bool machine_pages::first_use_of_line(std::uint64_t page, std::uint64_t line) {
  auto bit = used_lines_[static_cast<page_id>(page)][line];
  const bool first = !bit;
  bit = true;
  return first;
}

}  // namespace weft::sim
