// Shared memory with an end: what weft::make_array and weft::make give, and node 0 gives back.
//
// All nodes make one together, and use it for the last time before a barrier (or a reduction) that comes before node 0 lets go of
// it.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include <weft/weft.h>

namespace app {

namespace detail {

// For destructors: a job that fails has nothing to give back.
template <typename Release>
void on_node_0(Release&& release) noexcept {
  try {
    if (weft::space::here().self() == 0) release();
  } catch (const weft::error&) {
  }
}

}  // namespace detail

template <typename T>
class shared_array {
 public:
  explicit shared_array(std::size_t count, weft::placement where = {}) : first_(weft::make_array<T>(count, where).data()) {}
  ~shared_array() {
    detail::on_node_0([&] { weft::free(first_); });
  }
  shared_array(const shared_array&) = delete;
  shared_array& operator=(const shared_array&) = delete;

  T* data() const noexcept { return first_; }

 private:
  T* first_;
};

template <typename T>
class shared_object {
 public:
  template <typename... Arguments>
  explicit shared_object(Arguments&&... arguments) : object_(&weft::make<T>(std::forward<Arguments>(arguments)...)) {}
  ~shared_object() {
    detail::on_node_0([&] {
      std::destroy_at(object_);
      weft::free(object_);
    });
  }
  shared_object(const shared_object&) = delete;
  shared_object& operator=(const shared_object&) = delete;

  T& operator*() const noexcept { return *object_; }

 private:
  T* object_;
};

}  // namespace app
