// Which shared memory a job has, and the one that this process uses.
#pragma once

#include <memory>
#include <string>

#include <weft/detail/space.h>

#include "dsm/homes.h"
#include "space/observed.h"

namespace weft::runtime {

struct space_choice {
  std::string protocol;  // a name of space/protocols.h; "" for the best: direct on one host, auto across hosts
  std::string engine;    // uffd, mprotect; "" for the best
  bool one_host = true;
  std::size_t protocol_memory = 0;  // bytes; 0 for what is usual
};

struct made_space {
  std::unique_ptr<space> memory;
  observed* seen = nullptr;  // the same
};

// Collective.
result<made_space> make_space(port& p, const space_choice& choice, const dsm::exchange& with_all);

// The program uses `s` from now on; null: none.
void use_space(space* s) noexcept;

}  // namespace weft::runtime
