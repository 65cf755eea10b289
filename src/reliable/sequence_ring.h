// What a lane keeps for a contiguous range of packet numbers: a ring that is indexed by the number itself. It grows by doubling, up to
// what its owner lets it hold, and never shrinks. Elements outside the range are default-constructed or moved from.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace weft::reliable {

template <typename T>
class sequence_ring {
 public:
  std::uint64_t begin() const { return begin_; }
  std::uint64_t end() const { return end_; }
  std::size_t size() const { return static_cast<std::size_t>(end_ - begin_); }
  bool empty() const { return begin_ == end_; }
  bool contains(std::uint64_t sequence) const { return sequence >= begin_ && sequence < end_; }

  T& operator[](std::uint64_t sequence) {
    assert(contains(sequence));
    return slots_[static_cast<std::size_t>(sequence) & (slots_.size() - 1)];
  }
  const T& operator[](std::uint64_t sequence) const {
    assert(contains(sequence));
    return slots_[static_cast<std::size_t>(sequence) & (slots_.size() - 1)];
  }

  T& push_back() {
    if (size() == slots_.size()) grow();
    ++end_;
    T& slot = (*this)[end_ - 1];
    slot = T{};
    return slot;
  }

  void pop_front() {
    (*this)[begin_] = T{};
    ++begin_;
  }

  void pop_back() {
    (*this)[end_ - 1] = T{};
    --end_;
  }

 private:
  static constexpr std::size_t first_slots = 16;

  void grow() {
    std::vector<T> larger(slots_.empty() ? first_slots : slots_.size() * 2);
    for (std::uint64_t s = begin_; s != end_; ++s)
      larger[static_cast<std::size_t>(s) & (larger.size() - 1)] = std::move((*this)[s]);
    slots_ = std::move(larger);
  }

  std::vector<T> slots_;
  std::uint64_t begin_ = 0, end_ = 0;
};

}  // namespace weft::reliable
