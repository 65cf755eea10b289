#include "vmmc/doubled_memory.h"

#include <cerrno>

#include <sys/mman.h>

#include "base/text.h"

namespace weft::communication {

result<std::shared_ptr<bound_memory>> doubled_memory::make(updater& by, const imported& to, std::uint64_t offset, std::size_t size,
                                                           const binding_options& options) {
  if (!hooks::hooks_are_linked.load())
    return {errc::unavailable, "this program was not built for doubling: use weft_add_program(... DOUBLED), or bind 'tracked'"};
  os::mapping own;
  std::byte* bound = options.local.data();
  if (options.local.empty()) {
    void* at =
        ::mmap(nullptr, os::round_to_pages(size), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) return base::system_failure("allocating memory for a binding", errno);
    own = os::mapping(static_cast<std::byte*>(at), os::round_to_pages(size));
    bound = own.base();
  }
  auto made = std::make_shared<doubled_memory>(by, to, offset, options, mutable_bytes(bound, size), std::move(own));
  if (!made->stores_.enter_table())
    return {errc::too_large, base::format("%zu doubled bindings are in use; unbind some first", hooks::store_map::most)};
  return std::shared_ptr<bound_memory>(std::move(made));
}

}  // namespace weft::communication
