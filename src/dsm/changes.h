// Changes: what was written in some pages, as runs of bytes that can be put into the same pages elsewhere. What the papers call a
// diff.
//
// Byte-exact: two nodes may write neighbouring bytes of one page. The runs refer to storage that the object owns, so they stay
// valid until clear(). Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include <weft/port.h>

namespace weft::dsm {

class changes {
 public:
  // Appends the differences between `now` and `before`, as runs from `offset` on, and brings `before` up to date. `now` may be
  // written by others meanwhile: each of its bytes is read once. Whether there was a difference.
  bool add(std::uint64_t offset, const std::byte* now, std::byte* before, std::size_t size);

  // Appends a run that somebody else has found.
  void add_run(std::uint64_t offset, bytes data);

  std::span<const run> runs() const noexcept { return runs_; }
  std::size_t bytes_changed() const noexcept { return bytes_; }
  bool empty() const noexcept { return runs_.empty(); }
  void clear() noexcept;

 private:
  std::byte* storage(std::size_t size);

  static constexpr std::size_t block_bytes = 256 * 1024;

  std::vector<run> runs_;
  std::size_t bytes_ = 0;
  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  std::size_t block_ = 0;  // the one being filled
  std::size_t used_ = 0;   // of it
};

}  // namespace weft::dsm
