// The bootstrap of a node that a launcher with a PMIx server started: Open MPI's `mpirun`, Slurm's `srun --mpi=pmix`.
#pragma once

#include <memory>
#include <string>

#include "join/bootstrap.h"

namespace weft::runtime {

// Whether the environment says that there is a server; costs nothing.
bool pmix_announced();

result<std::unique_ptr<bootstrap>> join_pmix();

// Where libpmix is on this machine; a failure says how to get it.
result<std::string> find_pmix();

// A failure when `srun` started several tasks of this step without PMIx: each would take itself for a job of one.
status check_not_scattered();

}  // namespace weft::runtime
