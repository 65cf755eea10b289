// What there is to start jobs with: processors, ssh, PMIx.
#include <sched.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>

#include "base/text.h"
#include "cli/doctor.h"
#include "join/pmix_bootstrap.h"
#include "launch/processes.h"

namespace weft::cli {
namespace {

void examine_processors(diagnosis& d) {
  cpu_set_t set;
  CPU_ZERO(&set);
  const long online = ::sysconf(_SC_NPROCESSORS_ONLN);
  const long ours = ::sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : online;
  d.add({"cores", "cores", ours == online ? std::to_string(online) : base::format("%ld of %ld for this process", ours, online),
         grade::plain, ""});
}

void examine_ssh(diagnosis& d) {
  const char* path = std::getenv("PATH");
  const auto ssh = launch::find_program("ssh", "/", path != nullptr ? path : "/usr/bin:/bin");
  d.add({"ssh", "ssh", ssh.exit_status == 0 ? ssh.path : "not found; 'weft run --hosts' needs it or a --launcher",
         ssh.exit_status == 0 ? grade::good : grade::lacking, ssh.exit_status == 0 ? "" : "apt-get install openssh-client"});
}

void examine_pmix(diagnosis& d) {
  const auto pmix = runtime::find_pmix();
  d.add({"pmix", "PMIx", pmix ? *pmix : "not found; jobs under mpirun and srun need it", pmix ? grade::good : grade::lacking,
         pmix ? "" : "apt-get install libpmix2"});
}

}  // namespace

void examine_launch(diagnosis& d) {
  examine_processors(d);
  examine_ssh(d);
  examine_pmix(d);
}

}  // namespace weft::cli
