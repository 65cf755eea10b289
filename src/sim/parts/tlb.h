// A processor's translation buffer: which pages it can translate. Fully associative; the oldest entry goes.
#pragma once

#include <cstdint>
#include <vector>

namespace weft::sim {

class tlb {
 public:
  // Pages are numbered; there may come to be more than `pages`.
  tlb(std::uint64_t entries, std::uint64_t pages) : ring_(entries, none), place_(pages) {}

  bool holds(std::uint64_t page) const noexcept { return page < place_.size() && place_[page] != 0; }

  void fill(std::uint64_t page) {
    if (holds(page)) return;
    if (page >= place_.size()) place_.resize(page + 1);
    drop(ring_[next_]);
    ring_[next_] = page;
    place_[page] = static_cast<std::uint16_t>(next_ + 1);
    if (++next_ == ring_.size()) next_ = 0;
  }

  void drop(std::uint64_t page) noexcept {
    if (page == none || !holds(page)) return;
    ring_[place_[page] - 1] = none;
    place_[page] = 0;
  }

 private:
  static constexpr std::uint64_t none = ~std::uint64_t{0};

  std::vector<std::uint64_t> ring_;
  std::vector<std::uint16_t> place_;  // by page: where it is in the ring, from 1 on
  std::size_t next_ = 0;
};

}  // namespace weft::sim
