#include "join/words.h"

#include <sys/wait.h>

#include <algorithm>
#include <cstring>

#include "base/text.h"

namespace weft::runtime {

std::string name_nodes(const std::vector<std::uint32_t>& nodes) {
  constexpr std::size_t most_named = 8;
  if (nodes.empty()) return "no node";
  if (nodes.size() == 1) return base::format("node %u", nodes[0]);
  std::string text = "nodes ";
  const std::size_t named = std::min(nodes.size(), most_named);
  for (std::size_t i = 0; i < named; ++i) {
    if (i > 0) text += i + 1 == nodes.size() ? " and " : ", ";
    text += std::to_string(nodes[i]);
  }
  if (nodes.size() > named) text += base::format(" and %zu more", nodes.size() - named);
  return text;
}

std::string describe_end(int wait_status) {
  if (WIFSIGNALED(wait_status)) {
    const int number = WTERMSIG(wait_status);
    return base::format("was killed by signal %d (%s)", number, strsignal(number));
  }
  return base::format("exited with status %d", WEXITSTATUS(wait_status));
}

int shell_status(int wait_status) {
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

std::string describe_duration(base::nanoseconds d) {
  if (d < base::second) return base::format("%lld ms", static_cast<long long>(d / base::millisecond));
  return base::format("%g s", static_cast<double>(d) / static_cast<double>(base::second));
}

}  // namespace weft::runtime
