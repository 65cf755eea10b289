// An array of at most `most` elements that are made one after the other, as they are needed, and stay where they are. Room for all of them is
// there from the start, but costs nothing until it is used.
//
// Threads: one at a time makes another element; meanwhile others may use those that they know of. Who finds an element by a number from
// outside asks first whether it has been made.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

namespace weft::base {

template <typename T, std::size_t most>
class growing_array {
 public:
  growing_array() : first_(std::allocator<T>().allocate(most)) {}
  ~growing_array() {
    std::destroy_n(first_, size());
    std::allocator<T>().deallocate(first_, most);
  }
  growing_array(const growing_array&) = delete;
  growing_array& operator=(const growing_array&) = delete;

  // Acquire pairs with the release in grow(): elements below it are made.
  std::size_t size() const noexcept { return size_.load(std::memory_order_acquire); }
  bool full() const noexcept { return size() == most; }

  T& operator[](std::size_t i) noexcept { return first_[i]; }
  const T& operator[](std::size_t i) const noexcept { return first_[i]; }

  // One more, unless it is full: its number.
  std::size_t grow() {
    const std::size_t made = size();
    std::construct_at(first_ + made);
    size_.store(made + 1, std::memory_order_release);
    return made;
  }

 private:
  T* const first_;
  std::atomic<std::size_t> size_{0};
};

}  // namespace weft::base
