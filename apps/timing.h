// The time of the parallel part: between two barriers, so that it is the slowest worker's and nobody's initialisation.
#pragma once

#include <chrono>

#include <weft/weft.h>

namespace app {

template <typename Worker, typename Work>
double seconds_of(Worker& me, Work&& work) {
  me.barrier();
  const auto start = std::chrono::steady_clock::now();
  work();
  me.barrier();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace app
