// Which shared memory a job has, and the one that this process uses.
#pragma once

#include <memory>
#include <string>

#include <weft/space.h>

#include "dsm/homes.h"

namespace weft::runtime {

struct space_choice {
  std::string protocol;  // direct, cashmere, hlrc; "" for the best: direct on one host, hlrc across hosts
  std::string engine;    // uffd, mprotect; "" for the best
  bool one_host = true;
};

// Collective. The space becomes this process's until it is destroyed.
result<std::unique_ptr<space>> make_space(port& p, const space_choice& choice, const dsm::exchange& with_all);

// The program uses `s` from now on; null: none.
void use_space(space* s) noexcept;

}  // namespace weft::runtime
