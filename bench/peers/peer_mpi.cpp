// Open MPI: runs bench/peers/mpi_peer.cpp under mpirun, which prints its measurements the way our own nodes do.
#include <filesystem>

#include "base/text.h"
#include "bench/harness/cores.h"
#include "bench/peers/peers.h"
#include "launch/subprocess.h"

namespace weft::bench {
namespace {

std::string peer_program() {
  return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "weft-mpi-peer").string();
}

std::vector<std::string> command_of(const std::string& owner, bool tcp, const settings& how, const std::string& only) {
  std::vector<std::string> words = {"mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2"};
  // Both sides spin on a core of their own, as ours do.
  words.insert(words.end(), {"--mca", "mpi_yield_when_idle", "0", "--bind-to", two_cores().empty() ? "none" : "core"});
  // Open MPI's other one-sided components would go through shared memory all the same.
  if (tcp)
    words.insert(words.end(),
                 {"--mca", "pml", "ob1", "--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", "lo", "--mca", "osc", "pt2pt"});
  words.insert(words.end(),
               {peer_program(), owner, std::to_string(how.repeat), std::to_string(how.sample), std::to_string(how.batches)});
  if (!only.empty()) words.push_back(only);
  return words;
}

}  // namespace

std::string open_mpi_missing() {
  if (!launch::installed("mpirun")) return "not installed (apt-get install openmpi-bin libopenmpi-dev ucx-utils)";
  if (!launch::installed(peer_program()))
    return "the program weft-mpi-peer was not built (apt-get install libopenmpi-dev, then build again)";
  return "";
}

result<measurements> measure_open_mpi(const std::string& owner, bool tcp, const settings& how, const std::string& only) {
  auto run = launch::subprocess::start(command_of(owner, tcp, how, only), launch::subprocess::errors::hidden);
  if (!run) return run.failure();
  measurements found;
  const int ended = run->read([&](const std::string& line) { found.add_line(line); }, 300);
  if (ended != 0 || found.all().empty())
    return {errc::system,
            base::format("mpirun %s %s", tcp ? "over tcp" : "with its default transports", launch::describe_end(ended).c_str())};
  return found;
}

}  // namespace weft::bench
