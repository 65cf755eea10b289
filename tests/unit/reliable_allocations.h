// How often this program has allocated memory: for tests that say it does not.
#pragma once

#include <cstdint>

namespace weft::reliable {

std::uint64_t allocations();

}  // namespace weft::reliable
