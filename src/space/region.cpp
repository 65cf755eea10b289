#include "space/region.h"

#include <cstdio>

#include <unistd.h>

namespace weft::runtime {

void say_not_allocated(node_id self, const void* page) noexcept {
  ::dprintf(STDERR_FILENO,
            "weft: node %u: the page at %p lies in weft's shared memory, but nothing was ever allocated there; look for a "
            "pointer or an index that has gone astray\n",
            self, page);
}

}  // namespace weft::runtime
