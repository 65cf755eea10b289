// The parallel part of a program that goes step by step: timed, with a progress bar.
#pragma once

#include <cstddef>

#include <weft/weft.h>

#include "progress.h"
#include "timing.h"

namespace app {

// By every worker: how long the steps take.
template <typename Worker, typename Step>
double seconds_of_steps(Worker& me, std::size_t steps, Step&& step) {
  return seconds_of(me, [&] {
    progress bar(me, steps);
    for (std::size_t done = 0; done < steps;) {
      step();
      bar.reached(++done);
    }
  });
}

}  // namespace app
