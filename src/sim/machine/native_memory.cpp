#include "sim/machine/native_memory.h"

#include <sys/mman.h>

#include "base/text.h"

namespace weft::sim {

native_memory::native_memory() {
  std::byte* const base = runtime::region_base + first;
  void* at = ::mmap(base, most, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (at != base)
    throw error(errc::system, "the simulated nodes' own memory cannot be mapped at its place; another machine is there");
  all_ = {base, most};
}

result<mutable_bytes> native_memory::allocate(std::size_t size) {
  return allocate(size, 0);
}

result<mutable_bytes> native_memory::bind(node_id to, mutable_bytes there) {
  auto made = allocate(there.size(), static_cast<std::uint32_t>(made_.size() + 1));
  if (made) made_.push_back({to, made->data(), there.data()});
  return made;
}

result<mutable_bytes> native_memory::allocate(std::size_t size, std::uint32_t which) {
  const std::size_t used = bindings_.size() * dsm::page_bytes;
  if (size == 0 || size > most - used)
    return {errc::too_large,
            base::format("simulated nodes have at most %llu GiB of their own", static_cast<unsigned long long>(most >> 30))};
  bindings_.resize(bindings_.size() + (size + dsm::page_bytes - 1) / dsm::page_bytes, which);
  return mutable_bytes(all_.base() + used, size);
}

}  // namespace weft::sim
