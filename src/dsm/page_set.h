// A set of pages as a bitmap of three levels: finding the next member skips what is empty, in a region of any size. Lazily backed.
// Not thread-safe; the owner says what guards it.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "dsm/pages.h"
#include "os/memory_file.h"

namespace weft::dsm {

class page_set {
 public:
  static result<page_set> create(page_id pages) {
    page_set s;
    std::size_t bits = pages;
    for (auto& level : s.levels_) {
      const std::size_t words = bits / 64 + 1;
      auto reserved = os::reserve(words * 8);
      if (!reserved) return reserved.failure();
      level = std::move(*reserved);
      bits = words;
    }
    s.pages_ = pages;
    return s;
  }

  bool contains(page_id p) const noexcept { return word(0, p / 64) >> p % 64 & 1; }
  std::size_t size() const noexcept { return size_; }

  void insert(page_id p) noexcept {
    if (contains(p)) return;
    ++size_;
    std::size_t at = p;
    for (std::size_t l = 0; l < levels; ++l, at /= 64) word(l, at / 64) |= std::uint64_t{1} << at % 64;
  }
  void erase(page_id p) noexcept {
    if (!contains(p)) return;
    --size_;
    std::size_t at = p;
    for (std::size_t l = 0; l < levels; ++l, at /= 64)
      if ((word(l, at / 64) &= ~(std::uint64_t{1} << at % 64)) != 0) return;
  }

  // The first member from `p` on, or the number of pages.
  page_id next(page_id p) const noexcept {
    if (size_ == 0) return pages_;
    std::size_t at = p, level = 0;
    while (at < limit(level)) {
      if (const std::uint64_t here = word(level, at / 64) & ~std::uint64_t{0} << at % 64) {
        at = at / 64 * 64 + static_cast<std::size_t>(std::countr_zero(here));
        if (level == 0) return static_cast<page_id>(at);
        at *= 64;  // down: the word that is not empty
        --level;
      } else if (level + 1 < levels) {
        at = at / 64 + 1;  // up: the word after this one
        ++level;
      } else {
        at = (at / 64 + 1) * 64;
      }
    }
    return pages_;
  }
  // The first page from `p` on that is not a member.
  page_id next_absent(page_id p) const noexcept {
    while (p < pages_ && p % 64 != 0 && contains(p)) ++p;
    if (p < pages_ && p % 64 != 0) return p;
    while (p < pages_ && word(0, p / 64) == ~std::uint64_t{0}) p += 64;
    while (p < pages_ && contains(p)) ++p;
    return p;
  }

 private:
  static constexpr std::size_t levels = 3;
  std::uint64_t& word(std::size_t level, std::size_t index) const noexcept {
    return reinterpret_cast<std::uint64_t*>(levels_[level].base())[index];
  }
  std::size_t limit(std::size_t level) const noexcept {
    std::size_t bits = pages_;
    for (std::size_t l = 0; l < level; ++l) bits = bits / 64 + 1;
    return bits;
  }

  std::array<os::mapping, levels> levels_;
  page_id pages_ = 0;
  std::size_t size_ = 0;
};

}  // namespace weft::dsm
