// The compiler's hooks (hooks/compiler_hooks.h) of a simulated program: references to shared memory go to the processor that makes them,
// all others take a cycle, and so do the instructions of a basic block, on the average (-fsanitize-coverage=trace-pc).
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/clock.h"
#include "runtime/region.h"
#include "sim/program/simulated.h"

namespace {

using weft::sim::processor;
using weft::sim::simulated;

// Whoever runs, if that is a program: the simulator's own code has no hooks, but may share the standard library's templates with it.
inline processor* running() noexcept {
  return simulated ? simulated->running() : nullptr;
}

inline void referred(const void* at, std::size_t size, bool write) {
  processor* p = running();
  if (!p) return;
  std::uint64_t offset = reinterpret_cast<std::uintptr_t>(at) - reinterpret_cast<std::uintptr_t>(weft::runtime::region_base);
  if (offset >= weft::runtime::region_bytes) return p->compute(1);
  const std::uint64_t line = simulated->numbers().line_bytes;
  if (offset + size > simulated->numbers().memory_pages * weft::dsm::page_bytes) return;  // the access itself will fail
  while (size != 0) {
    const std::size_t piece = std::min<std::size_t>(size, line - offset % line);
    p->refer(offset, piece, write);
    offset += piece;
    size -= piece;
  }
}

inline void loaded(const void* at, std::size_t size) { referred(at, size, false); }
inline void stored(const void* at, std::size_t size) { referred(at, size, true); }

}  // namespace

#include "hooks/compiler_hooks.h"

extern "C" {

void __sanitizer_cov_trace_pc() {
  if (processor* p = running()) p->compute(simulated->numbers().block_cycles);
}

// std::chrono::steady_clock::now(), by the link option --wrap: a program that takes the time gets its processor's.
std::int64_t __real__ZNSt6chrono3_V212steady_clock3nowEv();
std::int64_t __wrap__ZNSt6chrono3_V212steady_clock3nowEv() {
  const processor* p = running();
  return p ? simulated->nanoseconds_of(p->now()) : __real__ZNSt6chrono3_V212steady_clock3nowEv();
}

}  // extern "C"
