// Where the shared region lies: the same address on every node, far from where the kernel puts programs, libraries and stacks, and from
// the shadow memory of the sanitizers.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/port.h>

#include "dsm/pages.h"

namespace weft::runtime {

inline std::byte* const region_base = reinterpret_cast<std::byte*>(std::uintptr_t{0x2000'0000'0000});
inline constexpr std::size_t region_bytes = std::size_t{512} << 30;
inline constexpr dsm::page_id region_pages = region_bytes / dsm::page_bytes;

// For an access that is about to end in SIGSEGV: what can be said of it.
void say_not_allocated(node_id self, const void* page) noexcept;

}  // namespace weft::runtime
