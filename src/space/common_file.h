// A memory file that all nodes of a job have, where they are on one host.
#pragma once

#include "dsm/homes.h"
#include "os/memory_file.h"

namespace weft::runtime {

// Collective. Node 0 makes the file; it stays open there until the next collective step.
result<os::unique_fd> common_memory_file(const port& p, std::size_t size, const dsm::exchange& with_all);

}  // namespace weft::runtime
