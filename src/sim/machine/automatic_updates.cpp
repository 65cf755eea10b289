#include "sim/machine/automatic_updates.h"

#include <algorithm>

#include "sim/machine/machine.h"

namespace weft::sim {

namespace {

constexpr std::uint64_t word_bytes = 8;  // that a processor stores at once

}  // namespace

automatic_updates::automatic_updates(machine& in, processor& of)
    : machine_(in),
      processor_(of),
      combines_(in.interface_of_nodes() && in.interface_of_nodes()->merges),
      local_(in.numbers().write_buffer),
      fifo_(in.numbers().outgoing_fifo != 0 ? std::max<std::uint64_t>(in.numbers().outgoing_fifo / word_bytes, 1)
                                            : in.numbers().write_buffer) {}

void automatic_updates::store(const native_memory::binding& where, std::uint64_t offset, std::uint64_t size) {
  see();
  unseen_ = {&where, offset, offset + size, processor_.now()};
}

void automatic_updates::pass_unseen() {
  const machine::aside at_work(machine_);
  const stores s = std::exchange(unseen_, {});
  cycles at = s.at;
  for (std::uint64_t first = s.first; first < s.last;) {
    const std::uint64_t last = std::min(s.last, first / word_bytes * word_bytes + word_bytes);
    at = pass(*s.where, first, last, at);
    first = last;
  }
  processor_.spend(cost::cache_stall, at - s.at);
}

// One store: to local memory, and into a packet. When the processor may go on.
cycles automatic_updates::pass(const native_memory::binding& where, std::uint64_t first, std::uint64_t last, cycles at) {
  at = local_.room_at(at);
  local_.add(machine_.connections().access(at, processor_.self(), last - first, resource::from::here));
  const bool follows = where_ == &where && next_ == first && first % dsm::page_bytes != 0;
  if (!follows) at = send_packet(at);
  packet_.insert(packet_.end(), runtime::region_base + first, runtime::region_base + last);
  where_ = &where;
  next_ = last;
  grown_at_ = at;
  if (!combines_) return send_packet(at);
  send_later();
  return at;
}

void automatic_updates::send_later() {
  if (std::exchange(timed_, true)) return;
  event_queue& time = machine_.time();
  const cycles due = grown_at_ + machine_.numbers().combining_time;
  time.at(std::max(due, time.now()), [this, due] {
    timed_ = false;
    if (!where_) return;
    if (grown_at_ + machine_.numbers().combining_time > due) return send_later();
    send_packet(machine_.time().now());
  });
}

// SHRIMP 4.5.2: a processor stops when the FIFO is full.
cycles automatic_updates::send_packet(cycles at) {
  if (!where_) return at;
  const native_memory::binding& b = *std::exchange(where_, nullptr);
  at = fifo_.room_at(at);
  const std::byte* here = runtime::region_base + next_ - packet_.size();
  const cycles left = machine_.at(processor_.self()).port.send_update(at, b.to, b.there + (here - b.here), packet_);
  for (std::size_t byte = 0; byte < packet_.size(); byte += word_bytes) fifo_.add(left);
  packet_.clear();
  return at;
}

void automatic_updates::send_all() {
  see();
  const machine::aside at_work(machine_);
  const cycles sent = send_packet(processor_.now());
  processor_.spend(cost::cache_stall, sent - processor_.now());
}

}  // namespace weft::sim
