// Changes: what was written in some pages, so that it can be put into the same pages elsewhere. What the papers call a diff.
//
// Byte-exact: two nodes may write neighbouring bytes of one page. In one of two forms: runs of bytes, for the port's one-sided operations
// and for keeping; or patches, for messages. They refer to storage that the object owns, so they stay valid until clear(). Not
// thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include <weft/port.h>

#include "dsm/patch.h"

namespace weft::dsm {

class changes {
 public:
  enum class form : std::uint8_t { runs, patches };
  explicit changes(form f = form::runs) : form_(f) {}

  // Appends the differences between a page now and before, and brings `before` up to date. `now` may be written by others meanwhile: what
  // is appended is what `before` becomes. Whether there was a difference.
  bool add(page_id p, const std::byte* now, std::byte* before);

  // Appends a run that somebody else has found. Only to runs.
  void add_run(std::uint64_t offset, bytes data);

  // In the form that they are not in there are none.
  std::span<const run> runs() const noexcept { return runs_; }
  std::span<const patch> patches() const noexcept { return patches_; }
  std::size_t size() const noexcept { return runs_.size() + patches_.size(); }
  bool empty() const noexcept { return size() == 0; }
  std::size_t bytes_changed() const noexcept { return bytes_; }
  std::size_t ranges_changed() const noexcept { return runs_.size() + patched_ranges_; }
  void clear() noexcept;

  // The bytes that were changed, of what was appended from the `from`th on: offset, and how many.
  template <typename F>
  void for_ranges(std::size_t from, F&& each) const {
    if (form_ == form::runs)
      for (const run& r : runs().subspan(from)) each(r.offset, r.data.size());
    else
      for (const patch& one : patches().subspan(from))
        one.for_ranges([&](std::size_t at, std::size_t size) { each(one.page() * page_bytes + at, size); });
  }

 private:
  bool add_runs(page_id p, const std::byte* now, std::byte* before);
  void append(std::uint64_t offset, bytes data, std::size_t others);
  std::byte* storage(std::size_t size);

  static constexpr std::size_t block_bytes = 256 * 1024;

  form form_;
  std::vector<run> runs_;
  std::vector<patch> patches_;
  std::size_t bytes_ = 0, patched_ranges_ = 0;
  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  std::size_t block_ = 0;  // the one being filled
  std::size_t used_ = 0;   // of it
};

}  // namespace weft::dsm
