// The compiler's hooks (hooks/compiler_hooks.h) of a program whose stores are doubled: they are reported to the maps of doubled memory
// (hooks/store_map.h), and nothing else is.
#include <cstddef>
#include <cstdint>

#include "hooks/store_map.h"

namespace {

using weft::hooks::doubled_high;
using weft::hooks::doubled_low;

// Most stores are elsewhere. Relaxed: a thread that binds memory has set the bounds before it stores there, others synchronise with it.
inline void stored(const void* at, std::size_t size) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  if (address < doubled_low.load(std::memory_order_relaxed) || address >= doubled_high.load(std::memory_order_relaxed)) [[likely]]
    return;
  weft::hooks::report_store(at, size);
}

// The program has hooks: bindings may be doubled.
const bool linked = [] {
  weft::hooks::hooks_are_linked.store(true);
  return true;
}();

inline void loaded(const void*, std::size_t) noexcept {}

}  // namespace

#include "hooks/compiler_hooks.h"
