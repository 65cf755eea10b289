// Automatic update by compiler instrumentation (Cashmere's software doubling): the program's stores into bound memory are reported by
// the hooks that -fsanitize=thread compiles in, and sent by passes.
#pragma once

#include <memory>

#include "os/memory_file.h"
#include "vmmc/bound_memory.h"
#include "hooks/store_map.h"

namespace weft::communication {

class doubled_memory final : public bound_memory {
 public:
  static result<std::shared_ptr<bound_memory>> make(updater& by, const imported& to, std::uint64_t offset, std::size_t size,
                                                    const binding_options& options);

  doubled_memory(updater& by, const imported& to, std::uint64_t offset, const binding_options& options, mutable_bytes bound,
                 os::mapping own)
      : bound_memory(by, to, offset, options), bound_(bound), own_(std::move(own)), stores_(bound) {}
  ~doubled_memory() override { stores_.leave_table(); }

  mutable_bytes memory() const noexcept override { return bound_; }
  update_way way() const noexcept override { return update_way::doubled; }

 private:
  void collect(std::vector<run>& runs, bool own_thread) override { stores_.take(runs, own_thread); }

  const mutable_bytes bound_;
  os::mapping own_;
  hooks::store_map stores_;
};

}  // namespace weft::communication
