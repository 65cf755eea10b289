// A patch: the bytes of one page that were changed, as they travel in messages. It is made, read and applied by words, so that pages full
// of small changes cost little more than a copy.
//
// Encoded: the page's number (4 bytes); which of its 64 lines of 64 bytes have changes (8 bytes, a bit a line); for each of those lines
// which of its bytes were changed (8 bytes, a bit a byte), and those of its words of 8 bytes that have changes.
#pragma once

#include <bit>

#include "base/bytes.h"
#include "dsm/page_id.h"

namespace weft::dsm {

class patch {
 public:
  static constexpr std::size_t word_bytes = 8, line_bytes = 64, lines = page_bytes / line_bytes;
  static constexpr std::size_t header_bytes = sizeof(page_id) + sizeof(std::uint64_t);
  static constexpr std::size_t most_bytes = header_bytes + page_bytes + lines * sizeof(std::uint64_t);

  patch() = default;

  // How much was changed.
  struct amount {
    std::size_t bytes = 0, ranges = 0;
  };

  // What differs between a page now and before, encoded at `into`, where there is room for most_bytes; brings `before` up to date. `now` may
  // be written by others meanwhile: what is in the patch is what `before` becomes. Nothing was changed: the patch is empty.
  static patch make(page_id p, const std::byte* now, std::byte* before, std::byte* into, amount& changed) noexcept;

  // Of a page below `pages`. Its bytes stay where they are. False when it makes no sense.
  static bool read(base::reader& from, page_id pages, patch& into) noexcept;

  page_id page() const noexcept { return page_; }
  base::byte_view encoded() const noexcept { return encoded_; }

  // Into a page, and its twin if there is one. Other bytes are not touched: others may be writing to them.
  void apply(std::byte* page, std::byte* twin) const noexcept;

  // The changed bytes, line by line in ascending order: offset in the page, and how many.
  template <typename F>
  void for_ranges(F&& each) const {
    for_lines([&](std::size_t offset, std::uint64_t mask, const std::byte*) {
      while (mask != 0) {
        const auto first = static_cast<unsigned>(std::countr_zero(mask));
        const auto count = static_cast<unsigned>(std::countr_one(mask >> first));
        each(offset + first, std::size_t{count});
        mask = count == 64 ? 0 : mask & ~(((std::uint64_t{1} << count) - 1) << first);
      }
    });
  }

 private:
  // Each line: its offset, which of its bytes were changed, its words.
  template <typename F>
  void for_lines(F&& each) const {
    const std::byte* at = encoded_.data() + header_bytes;
    for (auto left = base::load<std::uint64_t>(encoded_.data() + sizeof(page_id)); left != 0; left &= left - 1) {
      const auto mask = base::load<std::uint64_t>(at);
      each(static_cast<std::size_t>(std::countr_zero(left)) * line_bytes, mask, at + sizeof mask);
      at += line_size(mask);
    }
  }
  static std::size_t line_size(std::uint64_t mask) noexcept;

  page_id page_ = 0;
  base::byte_view encoded_;
};

}  // namespace weft::dsm
