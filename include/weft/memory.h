// Shared memory: plain pointers that mean the same on every node.
//
//   auto grid = weft::make_array<double>(rows * columns);            // every node calls, every node gets the same address
//   auto tree = weft::make<node>(arguments...);                      // one object, made by node 0
//   std::vector<int, weft::allocator<int>> list;                     // a standard container whose elements are shared
//   auto buffer = weft::allocate(bytes);  weft::free(buffer);        // by one node, for everybody who gets the pointer
//
// Memory is coherent for programs without data races: what a node wrote before it unlocks a mutex, arrives at a barrier or sets a
// flag is seen by whoever locks, leaves or waits afterwards. docs/memory-model.md says it exactly.
//
// Any thread may allocate and free. Calls that all nodes make ("together") are made by one thread of each node, in the same order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include <weft/detail/space.h>

namespace weft {

inline constexpr std::size_t page_size = 4096;

inline void* allocate(std::size_t size, std::size_t alignment = alignof(std::max_align_t), placement where = {}) {
  return space::here().allocate(size, alignment, where);
}
inline void free(void* p) {
  space::here().release(p);
}

// For system calls that weft does not know: makes the bytes present, for reading or for reading and writing.
inline void touch(const void* p, std::size_t size, bool for_writing) {
  space::here().touch(p, size, for_writing);
}

namespace detail {

template <typename T>
std::size_t bytes_for(std::size_t count) {
  if (count > std::numeric_limits<std::size_t>::max() / sizeof(T))
    throw error(errc::too_large, "shared memory was asked for " + std::to_string(count) + " elements of " +
                                     std::to_string(sizeof(T)) + " bytes, more than there are addresses");
  return count * sizeof(T);
}

}  // namespace detail

// Together: `count` zeroed elements, from a page's start on, so that nodes that write different arrays share no page.
template <typename T>
std::span<T> make_array(std::size_t count, placement where = {}) {
  auto& s = space::here();
  T* first = static_cast<T*>(s.allocate_together(detail::bytes_for<T>(count), std::max(page_size, alignof(T)), where));
  if constexpr (!std::is_trivially_default_constructible_v<T>) {
    if (s.self() == 0) std::uninitialized_default_construct_n(first, count);
    s.barrier_within();
  }
  return {first, count};
}

// Together: one object, constructed by node 0.
template <typename T, typename... Arguments>
T& make(Arguments&&... arguments) {
  auto& s = space::here();
  T* object = static_cast<T*>(s.allocate_together(sizeof(T), alignof(T), {}));
  if (s.self() == 0) ::new (object) T(std::forward<Arguments>(arguments)...);
  s.barrier_within();
  return *object;
}

// By this node alone; destroy() by any.
template <typename T, typename... Arguments>
T* make_here(Arguments&&... arguments) {
  return ::new (allocate(sizeof(T), alignof(T))) T(std::forward<Arguments>(arguments)...);
}
template <typename T>
void destroy(T* object) {
  std::destroy_at(object);
  weft::free(object);
}

// Puts standard containers into shared memory. The container object itself must lie there as well if other nodes use it: make it
// with weft::make or weft::make_here.
template <typename T>
struct allocator {
  using value_type = T;
  using is_always_equal = std::true_type;
  allocator() = default;
  template <typename U>
  allocator(const allocator<U>&) noexcept {}  // NOLINT: converts on purpose
  T* allocate(std::size_t count) { return static_cast<T*>(weft::allocate(detail::bytes_for<T>(count), alignof(T))); }
  void deallocate(T* p, std::size_t) noexcept { weft::free(p); }
  template <typename U>
  bool operator==(const allocator<U>&) const noexcept {
    return true;
  }
};

}  // namespace weft
