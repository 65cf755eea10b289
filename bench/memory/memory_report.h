// What `weft bench memory` prints beside the ratios.
#pragma once

#include <string>

#include "bench/harness/report.h"

namespace weft::bench {

// The times themselves, by system, and those of the bare things.
std::string memory_text(const report& r);

}  // namespace weft::bench
