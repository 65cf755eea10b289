// The compiler's hooks (hooks/compiler_hooks.h) of a simulated program: references to shared memory go to the processor that makes them,
// and every basic block takes a cycle for each of its instructions (-fsanitize-coverage=trace-pc, sim/code/machine_code.h).
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

#include "base/clock.h"
#include "space/region.h"
#include "sim/code/machine_code.h"
#include "sim/program/simulated.h"

extern "C" void __sanitizer_cov_trace_pc();

namespace {

using weft::sim::native_memory;
using weft::sim::processor;
using weft::sim::simulated;

// Whoever runs, if that is a program: the simulator's and weft's own code has no hooks, but may share the standard library's templates with it.
inline processor* running() noexcept {
  processor* p = simulated ? simulated->running() : nullptr;
  return p && p->in_program() ? p : nullptr;
}

template <typename Refer>
inline void in_pieces(std::uint64_t offset, std::size_t size, std::size_t widest, Refer&& refer) {
  while (size != 0) {
    const std::size_t piece = std::min<std::size_t>(size, widest - offset % widest);
    refer(offset, piece);
    offset += piece;
    size -= piece;
  }
}

inline void referred(const void* at, std::size_t size, bool write) {
  processor* p = running();
  if (!p) return;
  const processor::outside_program until_served(*p);
  const bool copies = size > 16;
  if (copies) p->compute(size / 8);  // instructions that are not in the program's own code
  const std::uint64_t offset = reinterpret_cast<std::uintptr_t>(at) - reinterpret_cast<std::uintptr_t>(weft::runtime::region_base);
  if (offset >= native_memory::first + native_memory::most) return;
  const std::size_t widest = copies ? simulated->numbers().line_bytes : 8;  // a line, or a register
  if (offset >= native_memory::first) {
    if (!simulated->native().holds(offset)) return;
    if (write && simulated->native().bound(offset)) return p->store_bound(offset, size);
    return in_pieces(offset, size, widest, [&](std::uint64_t from, std::size_t) { p->refer_native(from, write); });
  }
  if (offset + size > simulated->numbers().memory_pages * weft::dsm::page_bytes) return;  // the access itself will fail
  in_pieces(offset, size, widest, [&](std::uint64_t from, std::size_t piece) { p->refer(from, piece, write); });
}

inline void loaded(const void* at, std::size_t size) {
  referred(at, size, false);
}
inline void stored(const void* at, std::size_t size) {
  referred(at, size, true);
}

}  // namespace

#include "hooks/compiler_hooks.h"

namespace weft::sim {

namespace {

#define WEFT_HOOKS(size)                                                                                                     \
  __tsan_read##size, __tsan_write##size, __tsan_read_write##size, __tsan_unaligned_read##size, __tsan_unaligned_write##size, \
      __tsan_unaligned_read_write##size, __tsan_volatile_read##size, __tsan_volatile_write##size

bool is_hook(const void* function) {
  using hook = void (*)(void*);
  static constexpr hook all[] = {WEFT_HOOKS(1), WEFT_HOOKS(2), WEFT_HOOKS(4), WEFT_HOOKS(8), WEFT_HOOKS(16), __tsan_func_entry};
  return function == reinterpret_cast<const void*>(&__tsan_func_exit) ||
         std::any_of(std::begin(all), std::end(all), [&](hook h) { return reinterpret_cast<const void*>(h) == function; });
}

// By the place in the program: the instructions of the block there, and one more; 0: not counted yet. The largest stands for all that
// are larger.
constexpr std::uint32_t most = 0xffff;
std::vector<std::uint16_t> counted;

extern "C" const char __executable_start, etext;

std::uint32_t count(const void* place) {
#ifdef __x86_64__
  return instructions_of_block(static_cast<const std::uint8_t*>(place), is_hook,
                               reinterpret_cast<const void*>(&__sanitizer_cov_trace_pc));
#else
  (void)place;
  return 4;
#endif
}

inline std::uint32_t instructions_behind(const void* place) {
  const auto at = static_cast<std::size_t>(static_cast<const char*>(place) - &__executable_start);
  if (at >= counted.size()) [[unlikely]] {
    const auto size = static_cast<std::size_t>(&etext - &__executable_start);
    if (at >= size) return count(place);  // a shared library
    counted.resize(size);
  }
  std::uint16_t& known = counted[at];
  if (known == 0) [[unlikely]]
    known = static_cast<std::uint16_t>(std::min(count(place) + 1, most));
  return known - 1u;
}

}  // namespace

}  // namespace weft::sim

extern "C" {

void __sanitizer_cov_trace_pc() {
  if (processor* p = running()) p->compute(weft::sim::instructions_behind(__builtin_return_address(0)));
}

// std::chrono::steady_clock::now(), by the link option --wrap: a program that takes the time gets its processor's.
std::int64_t __real__ZNSt6chrono3_V212steady_clock3nowEv();
std::int64_t __wrap__ZNSt6chrono3_V212steady_clock3nowEv() {
  const processor* p = simulated ? simulated->running() : nullptr;
  if (!p) return __real__ZNSt6chrono3_V212steady_clock3nowEv();
  simulated->at(p->self()).takes_time();
  return simulated->nanoseconds_of(p->now());
}

}  // extern "C"
