#include "bench/peers/peers.h"

namespace weft::bench {

std::vector<peer> known_peers() {
  return {
      {"mpi", "Open MPI", open_mpi_missing(), 8, [](const settings& s) { return measure_open_mpi("mpi", false, s); }},
      {"mpi_tcp", "Open MPI, tcp", open_mpi_missing(), 12, [](const settings& s) { return measure_open_mpi("mpi_tcp", true, s); }},
      {"ucx", "UCX, shm", ucx_missing(), 8, [](const settings& s) { return measure_ucx("ucx", false, s); }},
      {"ucx_tcp", "UCX, tcp", ucx_missing(), 12, [](const settings& s) { return measure_ucx("ucx_tcp", true, s); }},
  };
}

}  // namespace weft::bench
