// The neighbours that weft is measured beside when they are installed: Open MPI (through bench/peers/mpi_peer.cpp) and UCX (through its own
// ucx_perftest), each over shared memory and over TCP on loopback.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <weft/status.h>

#include "bench/harness/measurement.h"
#include "bench/harness/schedule.h"

namespace weft::bench {

struct peer {
  std::string owner;    // in the measurements
  std::string title;    // in tables and plots
  std::string missing;  // why it cannot be measured; empty if it can
  double seconds;       // that it takes, about
  std::function<result<measurements>(const settings&)> measure;
};

std::vector<peer> known_peers();

// `only`: the name of one measurement; empty: all.
result<measurements> measure_open_mpi(const std::string& owner, bool tcp, const settings& how, const std::string& only = "");
result<measurements> measure_ucx(const std::string& owner, bool tcp, const settings& how);
std::string open_mpi_missing();
std::string ucx_missing();

}  // namespace weft::bench
