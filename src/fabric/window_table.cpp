#include "fabric/window_table.h"

#include <sys/random.h>

#include "base/text.h"
#include "os/spin.h"

namespace weft::fabric {

std::uint64_t new_capability() {
  std::uint64_t value = 0;
  // Requests of up to 256 bytes are never cut short once the kernel's pool is ready.
  while (value == 0)
    if (::getrandom(&value, sizeof value, 0) != sizeof value) value = 0;
  return value;
}

status refuse_revoked(node_id node, std::uint32_t id) {
  return {errc::revoked, base::format("node %u: window %u is not exported (any more) under this capability", node, id)};
}

status refuse_bounds(node_id node, std::uint32_t id, std::uint64_t offset, std::size_t size, std::uint64_t limit) {
  return {errc::out_of_bounds, base::format("node %u: bytes %llu to %llu lie outside window %u of %llu bytes", node,
                                            static_cast<unsigned long long>(offset), static_cast<unsigned long long>(offset + size),
                                            id, static_cast<unsigned long long>(limit))};
}

status refuse_right(node_id node, std::uint32_t id, rights need) {
  const char* what = need == rights::read ? "read" : need == rights::write ? "write" : need == rights::atomic ? "atomic" : "this";
  return {errc::no_right, base::format("node %u: window %u was exported without the right for %s access", node, id, what)};
}

status refuse_node(node_id node, node_id nodes) {
  return {errc::invalid_argument, base::format("there is no node %u in this job of %u", node, nodes)};
}

result<window> window_table::open(const memory& m, rights allowed) {
  if (!m.base || m.size == 0) return {errc::invalid_argument, "a window needs at least one byte of memory"};
  std::scoped_lock lock(opening_);
  for (std::size_t tried = 0; tried < port::most_windows; ++tried) {
    const std::uint32_t id = next_;
    next_ = next_ + 1 < port::most_windows ? next_ + 1 : 1;
    if (id == entries_.size()) entries_.grow();
    entry& e = entries_[id];
    if (e.capability.load(std::memory_order_relaxed) != 0) continue;
    e.where = m;
    e.allowed = allowed;
    const std::uint64_t capability = new_capability();
    e.capability.store(capability, std::memory_order_release);  // pairs with the acquire in enter()
    return window{id, allowed, m.size, capability};
  }
  return {errc::too_large, base::format("all %zu windows of this node are in use; revoke some first", port::most_windows)};
}

status window_table::close(const window& w) {
  std::scoped_lock lock(opening_);
  if (w.id >= entries_.size()) return {errc::revoked, "no such window"};
  entry& e = entries_[w.id];
  std::uint64_t expected = w.capability;
  // Sequentially consistent, as is enter()'s increment and look: either we see the user or it sees the closing.
  if (w.capability == 0 || !e.capability.compare_exchange_strong(expected, 0))
    return {errc::revoked, base::format("window %u is not open under this capability", w.id)};
  while (e.users.load(std::memory_order_acquire) != 0) os::pause();  // ended by ~access, which nothing can hold up
  return {};
}

window_table::access window_table::enter(std::uint32_t id, std::uint64_t capability, std::uint64_t offset, std::size_t size,
                                         rights need, node_id self) {
  if (id >= entries_.size() || capability == 0) return access(refuse_revoked(self, id));
  entry& e = entries_[id];
  e.users.fetch_add(1);
  access held(&e);
  if (e.capability.load() != capability) return access(refuse_revoked(self, id));
  if (!allows(e.allowed, need)) return access(refuse_right(self, id, need));
  if (!inside(offset, size, e.where.size)) return access(refuse_bounds(self, id, offset, size, e.where.size));
  return held;
}

}  // namespace weft::fabric
