#include "os/page_engine.h"

namespace weft::os {

result<std::unique_ptr<page_engine>> page_engine::create(std::byte* base, std::size_t size, int file, fault_handler& handler,
                                                         way how) {
  if (how != way::mprotect) {
    auto engine = detail::uffd_engine(base, size, file, handler);
    if (engine || how == way::uffd) return engine;
  }
  return detail::mprotect_engine(base, size, file, handler);
}

}  // namespace weft::os
