#include "bench/harness/machine.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace weft::bench {
namespace {

std::string value_of(const std::string& line) {
  const auto colon = line.find(": ");
  return colon == std::string::npos ? "" : line.substr(colon + 2);
}

}  // namespace

machine this_machine() {
  machine m;
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    if (m.processor.empty() && line.starts_with("model name")) m.processor = value_of(line);
    if (m.gigahertz == 0 && line.starts_with("cpu MHz")) m.gigahertz = std::atof(value_of(line).c_str()) / 1000;
  }
  if (m.processor.empty()) m.processor = "unknown";
  utsname u{};
  if (::uname(&u) == 0) m.kernel = std::string(u.sysname) + " " + u.release + " " + u.machine;
  m.cores = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
  return m;
}

}  // namespace weft::bench
