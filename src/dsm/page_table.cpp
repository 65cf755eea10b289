#include "dsm/page_table.h"

namespace weft::dsm {

result<std::unique_ptr<page_table>> page_table::create(page_id pages, port& p) {
  auto where = os::reserve(std::size_t{pages} * sizeof(entry));
  if (!where) return where.failure();
  auto open = page_set::create(pages);
  if (!open) return open.failure();
  return std::unique_ptr<page_table>(new page_table(std::move(*where), std::move(*open), p));
}

}  // namespace weft::dsm
