#include "dsm/page_table.h"

#include <cerrno>

#include <sys/mman.h>

#include "base/text.h"

namespace weft::dsm {

result<std::unique_ptr<page_table>> page_table::create(page_id pages, port& p) {
  const std::size_t size = os::round_to_pages(std::size_t{pages} * sizeof(entry));
  void* at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return base::system_failure("mapping the page table", errno);
  os::mapping where(static_cast<std::byte*>(at), size);
  auto open = page_set::create(pages);
  if (!open) return open.failure();
  return std::unique_ptr<page_table>(new page_table(std::move(where), std::move(*open), p));
}

}  // namespace weft::dsm
