// The same source for the parallel run and for the sequential one that it is verified against: a program's classes take their
// memory and their worker from `together`, shared memory and the job's workers, or from `alone`, private memory and one worker who
// waits for nobody.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include <weft/weft.h>

#include "shared.h"

namespace app {

struct together {
  using worker = weft::worker;
  template <typename T>
  using array = shared_array<T>;
};

struct alone {
  struct worker {
    std::uint32_t rank() const noexcept { return 0; }
    std::uint32_t size() const noexcept { return 1; }
    std::pair<std::size_t, std::size_t> share_of(std::size_t count) const noexcept { return {0, count}; }
    void barrier() {}
    template <typename T, typename Operation>
    T reduce(const T& mine, Operation) {
      return mine;
    }
  };

  // Zeroed, from a page's start on, as a shared array.
  template <typename T>
  class array {
    static_assert(std::is_trivially_default_constructible_v<T>);

   public:
    explicit array(std::size_t count, weft::placement = {})
        : pages_(std::make_unique<page[]>((count * sizeof(T) + sizeof(page) - 1) / sizeof(page))) {}
    T* data() const noexcept { return reinterpret_cast<T*>(pages_.get()); }

   private:
    struct alignas(weft::page_size) page {
      std::byte bytes[weft::page_size];
    };
    std::unique_ptr<page[]> pages_;
  };
};

}  // namespace app
