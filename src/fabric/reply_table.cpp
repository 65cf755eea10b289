#include "fabric/reply_table.h"

namespace weft::fabric {

std::optional<word> reply_table::open(node_id node) {
  std::scoped_lock lock(lock_);
  if (free_.empty()) {
    if (entries_.full()) return std::nullopt;
    free_.push_back(static_cast<std::uint16_t>(entries_.grow()));
  }
  const std::uint16_t index = free_.back();
  free_.pop_back();
  pending_reply& p = entries_[index];
  p.node = node;
  p.sentence.clear();
  p.window = {};
  p.into = {};
  p.offset = p.asked = 0;
  p.arrived.store(0, std::memory_order_relaxed);
  ++p.generation;
  p.done.store(false, std::memory_order_relaxed);  // the lock orders it for find
  return word{p.generation} << 32 | index;
}

void reply_table::close(word token) {
  std::scoped_lock lock(lock_);
  at(token).done.store(true, std::memory_order_relaxed);
  free_.push_back(static_cast<std::uint16_t>(token & (most - 1)));
}

reply_table::claim reply_table::find(word token, node_id from) {
  const word index = token & 0xffffffff;
  if (index >= entries_.size()) return {};
  claim c{std::unique_lock(lock_), &entries_[index]};
  if (c->done.load(std::memory_order_relaxed) || c->generation != token >> 32 || c->node != from) return {};
  return c;
}

}  // namespace weft::fabric
