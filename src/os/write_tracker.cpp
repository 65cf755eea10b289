#include "os/write_tracker.h"

#include <memory>

namespace weft::os {

result<std::unique_ptr<write_tracker>> write_tracker::create(std::byte* base, std::size_t size, way how) {
  if (reinterpret_cast<std::uintptr_t>(base) % page_bytes != 0 || size % page_bytes != 0 || size == 0)
    return {errc::invalid_argument, "writes are tracked by whole pages of 4096 bytes"};
  if (how == way::faults) return detail::track_by_faults(base, size);
  auto by_kernel = detail::track_by_kernel(base, size);
  if (by_kernel || how == way::kernel) return by_kernel;
  return detail::track_by_faults(base, size);
}

bool kernel_records_writes() noexcept {
  static const bool offered = [] {
    alignas(page_bytes) static std::byte page[page_bytes];
    return detail::track_by_kernel(page, page_bytes).ok();
  }();
  return offered;
}

}  // namespace weft::os
