// A merging write buffer (Cashmere 2.3): keeps the last few lines that were written, with a dirty bit for each word of four bytes, and
// forwards a line when it is displaced by another one. Words of several writes to a line so travel together.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <vector>

namespace weft::sim {

class merge_buffer {
 public:
  struct line {
    std::uint64_t address = 0;  // where it begins
    std::uint64_t words = 0;    // a bit for each that was written; none: no line
    std::uint64_t bytes() const noexcept { return std::uint64_t{4} * static_cast<unsigned>(std::popcount(words)); }
  };

  merge_buffer(std::uint64_t lines, std::uint64_t line_bytes) : line_bytes_(line_bytes), lines_(lines) {}

  // Notes a write that stays within a line; the line that has to go for it, if one has.
  std::optional<line> write(std::uint64_t address, std::uint64_t size) {
    const std::uint64_t begin = address & ~(line_bytes_ - 1);
    const std::uint64_t first = (address - begin) / 4, last = (address - begin + size - 1) / 4;
    const std::uint64_t words = (~std::uint64_t{0} >> (63 - (last - first))) << first;
    for (line& l : lines_)
      if (l.words != 0 && l.address == begin) {
        l.words |= words;
        return std::nullopt;
      }
    line& oldest = lines_[next_];
    if (++next_ == lines_.size()) next_ = 0;
    const line gone = oldest;
    oldest = {begin, words};
    if (gone.words == 0) return std::nullopt;
    return gone;
  }

  // Forwards everything, oldest first.
  template <typename Forward>
  void drain(Forward&& forward) {
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      line& l = lines_[(next_ + i) % lines_.size()];
      if (l.words != 0) forward(l);
      l = {};
    }
    next_ = 0;
  }

 private:
  const std::uint64_t line_bytes_;
  std::vector<line> lines_;
  std::size_t next_ = 0;  // the oldest
};

}  // namespace weft::sim
