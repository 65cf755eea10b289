// Operations that the provider works on, and the buffers that go with them. An operation is posted with its own address as the context
// and comes back with its completion; each owns a slot of registered memory, so a frame or a short put needs nothing else.
//
// Threads: any may take and give back; between posting and completion an operation belongs to the provider and then to the driver.
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <mutex>
#include <type_traits>
#include <vector>

#include <rdma/fabric.h>

#include <weft/port.h>

#include "os/memory_file.h"
#include "os/spin.h"

namespace weft::fabric::ofi {

struct get_entry;

struct operation {
  enum class what : std::uint8_t { receive, send, write, read, atomic };

  // Somebody waits for an operation's end, or has given up: then whoever completes it gives it back.
  enum class wait : std::uint8_t { nobody, waiting, over, abandoned };

  fi_context2 context{};  // the provider's while the operation is under way. First: completions carry its address
  what kind = what::receive;
  node_id node = 0;
  std::byte* buffer = nullptr;  // the slot
  void* descriptor = nullptr;   // of the slot's registration
  std::size_t size = 0;         // bytes of the slot in use
  get_entry* get = nullptr;     // of a read
  std::byte* into = nullptr;    // of a read into the slot: where the bytes belong
  std::atomic<wait> state{wait::nobody};
  int error = 0;  // of an operation that somebody waited for

  static operation* of(void* completed) noexcept { return static_cast<operation*>(completed); }
};
static_assert(std::is_standard_layout_v<operation> && offsetof(operation, context) == 0);

class operation_pool {
 public:
  // `reserve` operations are kept for those that ask as `urgent`.
  status create(std::size_t count, std::size_t slot, std::size_t reserve, const char* name);

  operation* take(bool urgent) noexcept {
    std::scoped_lock lock(lock_);
    if (free_.size() <= (urgent ? 0 : reserve_)) return nullptr;
    operation* taken = free_.back();
    free_.pop_back();
    taken->state.store(operation::wait::nobody, std::memory_order_relaxed);  // ordered by the lock and by the posting
    taken->get = nullptr;
    taken->into = nullptr;
    taken->error = 0;
    return taken;
  }

  void give_back(operation* o) noexcept {
    std::scoped_lock lock(lock_);
    free_.push_back(o);
  }

  std::size_t under_way() const noexcept {
    std::scoped_lock lock(lock_);
    return all_.size() - free_.size();
  }

  std::deque<operation>& all() noexcept { return all_; }
  mutable_bytes memory() const noexcept { return {where_.base(), where_.size()}; }

 private:
  mutable os::spin_lock lock_;  // guards free_
  std::vector<operation*> free_;
  std::deque<operation> all_;  // never moves
  std::size_t reserve_ = 0;
  os::unique_fd file_;
  os::mapping where_;
};

inline status operation_pool::create(std::size_t count, std::size_t slot, std::size_t reserve, const char* name) {
  const std::size_t size = os::round_to_pages(count * slot);
  auto file = os::create_memory_file(name, size);
  if (!file) return file.failure();
  auto where = os::map_file(file->get(), 0, size, true);
  if (!where) return where.failure();
  file_ = std::move(*file);
  where_ = std::move(*where);
  reserve_ = reserve;
  all_.resize(count);
  free_.reserve(count);
  for (std::size_t i = count; i-- > 0;) {
    all_[i].buffer = where_.base() + i * slot;
    free_.push_back(&all_[i]);
  }
  return {};
}

}  // namespace weft::fabric::ofi
