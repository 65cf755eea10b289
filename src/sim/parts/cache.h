// A processor's cache, as far as time goes: which lines it holds, not what is in them. Lines are replaced in the order of their last use.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <vector>

namespace weft::sim {

class cache {
 public:
  // Sizes in bytes, all powers of two.
  cache(std::uint64_t size, std::uint64_t line, std::uint64_t ways)
      : shift_(static_cast<unsigned>(std::countr_zero(line))), ways_(ways), sets_(size / line / ways), lines_(size / line) {}

  // Whether the line of an address is there; it counts as used.
  bool holds(std::uint64_t address) noexcept {
    const std::uint64_t number = (address >> shift_) + 1;
    entry* set = &lines_[(number & (sets_ - 1)) * ways_];
    if (set->line == number) [[likely]]
      return true;
    for (std::uint64_t w = 1; w < ways_; ++w)
      if (set[w].line == number) {
        std::rotate(set, set + w, set + w + 1);
        return true;
      }
    return false;
  }

  // The line of the address, which is there and was used last, differs from memory from now on.
  void soil(std::uint64_t address) noexcept { lines_[(((address >> shift_) + 1) & (sets_ - 1)) * ways_].dirty = true; }

  // Brings in the line of an address, which is not there. The address of the line that had to go, if that was dirty.
  std::optional<std::uint64_t> fill(std::uint64_t address) noexcept {
    const std::uint64_t number = (address >> shift_) + 1;
    entry* set = &lines_[(number & (sets_ - 1)) * ways_];
    const entry victim = set[ways_ - 1];
    std::move_backward(set, set + ways_ - 1, set + ways_);
    set[0] = {number, false};
    if (!victim.dirty) return std::nullopt;
    return (victim.line - 1) << shift_;
  }

  // Forgets the lines of [address, address + size), which is a whole number of lines; how many of them were dirty.
  std::uint64_t purge(std::uint64_t address, std::uint64_t size) noexcept {
    std::uint64_t dirty = 0;
    for (std::uint64_t number = (address >> shift_) + 1; number <= (address + size) >> shift_; ++number)
      for (std::uint64_t w = 0; w < ways_; ++w)
        if (entry& e = lines_[(number & (sets_ - 1)) * ways_ + w]; e.line == number) {
          dirty += e.dirty;
          e = {};
        }
    return dirty;
  }

 private:
  struct entry {
    std::uint64_t line = 0;  // its number from 1 on; 0: none
    bool dirty = false;
  };
  const unsigned shift_;
  const std::uint64_t ways_, sets_;
  std::vector<entry> lines_;  // by set, the one used last first
};

}  // namespace weft::sim
