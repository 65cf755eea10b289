// Memory of programs that communicate by themselves (weft/vmmc.h): what the nodes' ports allocate, in one range of addresses behind the
// shared region, so that a reference to it is known by its address.
//
// Some of it is bound to memory of another node (SHRIMP 2.2, automatic update): what a processor stores there travels to that memory.
#pragma once

#include <cstdint>
#include <vector>

#include <weft/port.h>

#include "os/memory_file.h"
#include "space/region.h"

namespace weft::sim {

class native_memory {
 public:
  static constexpr std::uint64_t first = runtime::region_bytes;    // its offset from the shared region's start
  static constexpr std::uint64_t most = std::uint64_t{256} << 30;  // bytes
  static constexpr std::uint64_t first_page = first / dsm::page_bytes;

  // Throws weft::error if the addresses are taken.
  native_memory();

  // Zeroed, whole pages. It is there until the machine goes.
  result<mutable_bytes> allocate(std::size_t size);

  struct binding {
    node_id to;             // the node whose memory it is bound to
    const std::byte* here;  // where it begins
    std::byte* there;       // and what it is bound to
  };
  // Allocates memory that is bound to a node's.
  result<mutable_bytes> bind(node_id to, mutable_bytes there);

  // By offset from the shared region's start: whether it is allocated, and what it is bound to (null: nothing).
  bool holds(std::uint64_t offset) const noexcept { return offset - first < bindings_.size() * dsm::page_bytes; }
  const binding* bound(std::uint64_t offset) const noexcept {
    const std::uint32_t which = bindings_[(offset - first) / dsm::page_bytes];
    return which == 0 ? nullptr : &made_[which - 1];
  }
  static std::uint64_t offset_of(const std::byte* at) noexcept {
    return reinterpret_cast<std::uintptr_t>(at) - reinterpret_cast<std::uintptr_t>(runtime::region_base);
  }

 private:
  result<mutable_bytes> allocate(std::size_t size, std::uint32_t which);

  os::mapping all_;
  std::vector<std::uint32_t> bindings_;  // by allocated page: 0, or which of those that were made and one
  std::vector<binding> made_;
};

}  // namespace weft::sim
