// The windows that a node exposes, and the check that every remote access passes: the capability is the window's own, the right was
// granted, and the bytes lie inside. Used by whoever performs remote operations on this node.
//
// Thread-safe. An access holds the window until it is over; close() waits for those under way.
#pragma once

#include <atomic>
#include <mutex>

#include <weft/port.h>

#include "base/growing_array.h"

namespace weft::fabric {

class window_table {
 public:
  struct entry {
    std::atomic<std::uint64_t> capability{0};  // 0: closed
    std::atomic<std::uint32_t> users{0};       // accesses under way
    memory where;
    rights allowed = rights::none;
  };

  // The right to touch a window's bytes, as long as it lives.
  class access {
   public:
    access() = default;
    access(access&& other) noexcept : entry_(std::exchange(other.entry_, nullptr)), failure_(std::move(other.failure_)) {}
    access& operator=(access&&) = delete;
    ~access() {
      // Release pairs with the acquire in close(): our use of the bytes is over.
      if (entry_) entry_->users.fetch_sub(1, std::memory_order_release);
    }
    explicit operator bool() const noexcept { return entry_ != nullptr; }
    std::byte* base() const noexcept { return entry_->where.base; }
    bool covers(std::uint64_t offset, std::size_t size) const noexcept;
    status failure() { return std::move(failure_); }

   private:
    friend class window_table;
    explicit access(entry* e) noexcept : entry_(e) {}
    explicit access(status failure) noexcept : failure_(std::move(failure)) {}
    entry* entry_ = nullptr;
    status failure_;
  };

  window_table() { entries_.grow(); }  // 0 is no window

  result<window> open(const memory& m, rights allowed);
  status close(const window& w);

  // `name` is who asks, for the sentence of a refusal.
  access enter(std::uint32_t id, std::uint64_t capability, std::uint64_t offset, std::size_t size, rights need, node_id self);

  const entry& at(std::uint32_t id) const { return entries_[id]; }

 private:
  std::mutex opening_;  // guards the choice of a free entry, the making of new ones, and closing
  std::uint32_t next_ = 1;
  base::growing_array<entry, port::most_windows> entries_;
};

// The sentences of refused accesses; the same words wherever the check is made.
status refuse_revoked(node_id node, std::uint32_t id);
status refuse_bounds(node_id node, std::uint32_t id, std::uint64_t offset, std::size_t size, std::uint64_t limit);
status refuse_right(node_id node, std::uint32_t id, rights need);
status refuse_node(node_id node, node_id nodes);

// An unguessable number other than 0.
std::uint64_t new_capability();

// Whether [offset, offset + size) lies in [0, limit), without overflow.
constexpr bool inside(std::uint64_t offset, std::size_t size, std::uint64_t limit) noexcept {
  return offset <= limit && size <= limit - offset;
}

inline bool window_table::access::covers(std::uint64_t offset, std::size_t size) const noexcept {
  return inside(offset, size, entry_->where.size);
}

}  // namespace weft::fabric
