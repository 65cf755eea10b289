// Which cores the two sides of a measurement run on: two different physical ones where there are two.
#pragma once

#include <string>
#include <vector>

namespace weft::bench {

// Two cores that this process may use and that share no execution units, or nothing.
std::vector<int> two_cores();

// Puts all threads of this process onto one core: a node is one processor, as it is to LogP.
void pin_process_to(int core);

// For the report.
std::string describe_pinning(const std::vector<int>& cores);

}  // namespace weft::bench
