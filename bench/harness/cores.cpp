#include "bench/harness/cores.h"

#include <sched.h>

#include <filesystem>
#include <fstream>

#include "base/text.h"

namespace weft::bench {
namespace {

// Equal for hardware threads of one core; the core itself where the kernel does not say.
std::string siblings_of(int core) {
  std::ifstream in(base::format("/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", core));
  std::string text;
  return std::getline(in, text) ? text : std::to_string(core);
}

}  // namespace

std::vector<int> two_cores() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return {};
  std::vector<int> chosen;
  for (int core = 0; core < CPU_SETSIZE && chosen.size() < 2; ++core)
    if (CPU_ISSET(core, &allowed) && (chosen.empty() || siblings_of(core) != siblings_of(chosen.front()))) chosen.push_back(core);
  return chosen.size() == 2 ? chosen : std::vector<int>();
}

void pin_process_to(int core) {
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(core, &only);
  for (const auto& each : std::filesystem::directory_iterator("/proc/self/task"))
    if (const auto thread = base::parse_number(each.path().filename().string()))
      ::sched_setaffinity(static_cast<pid_t>(*thread), sizeof only, &only);
}

std::string describe_pinning(const std::vector<int>& cores) {
  if (cores.empty()) return "not pinned: this process may use one core only";
  return base::format("node 0 on core %d, node 1 on core %d", cores[0], cores[1]);
}

}  // namespace weft::bench
