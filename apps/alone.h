// The same source for the parallel run and for the sequential one that it is verified against: a program's classes take their
// memory and their worker from `together`, shared memory and the job's workers, or from `alone`, private memory and one worker who
// waits for nobody.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

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

  template <typename T>
  class array {
   public:
    explicit array(std::size_t count, weft::placement = {}) : elements_(count) {}
    T* data() const noexcept { return const_cast<T*>(elements_.data()); }  // as a shared array's, whose elements are not part of it

   private:
    std::vector<T> elements_;
  };
};

}  // namespace app
