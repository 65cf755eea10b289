// A page of the region, by number.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::dsm {

using page_id = std::uint32_t;
inline constexpr std::size_t page_bytes = 4096;

}  // namespace weft::dsm
