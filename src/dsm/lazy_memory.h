// Memory for tables that are large and mostly empty: zeroed, exposable on every fabric, and costing nothing until touched. Not from
// port::allocate, which would lock all of it in memory where the job is told to.
#pragma once

#include <weft/port.h>

#include "os/memory_file.h"

namespace weft::dsm {

class lazy_memory {
 public:
  lazy_memory() = default;
  // For windows of `p`: in a file where the fabric needs one.
  static result<lazy_memory> create(const port& p, std::size_t size) {
    if (!p.can().any_memory) return create_file(size);
    auto where = os::reserve(size);
    if (!where) return where.failure();
    lazy_memory m;
    m.where_ = std::move(*where);
    return m;
  }

  // In a file, whatever the fabric.
  static result<lazy_memory> create_file(std::size_t size) {
    lazy_memory m;
    const std::size_t whole = os::round_to_pages(size);
    auto file = os::create_memory_file("weft table", whole);
    if (!file) return file.failure();
    auto where = os::map_file(file->get(), 0, whole, true);
    if (!where) return where.failure();
    m.file_ = std::move(*file);
    m.where_ = std::move(*where);
    return m;
  }

  std::byte* base() const noexcept { return where_.base(); }

  // Exposes it; it must outlive the port's use of the window.
  result<window> expose(port& p) const { return p.expose({where_.base(), where_.size(), file_.get(), 0}, rights::all); }

 private:
  os::unique_fd file_;
  os::mapping where_;
};

}  // namespace weft::dsm
