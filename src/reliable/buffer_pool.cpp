#include "reliable/buffer_pool.h"

#include <bit>
#include <cassert>
#include <utility>

namespace weft::reliable {

namespace {

constexpr std::size_t steps_per_doubling = 4;
constexpr unsigned least_log = std::countr_zero(least_packet_buffer);

}  // namespace

std::size_t charge_of(std::size_t packet_bytes) {
  assert(packet_bytes <= most_packet_buffer);
  if (packet_bytes <= least_packet_buffer) return least_packet_buffer;
  const std::size_t step = std::bit_floor(packet_bytes - 1) / steps_per_doubling;
  return (packet_bytes + step - 1) & ~(step - 1);  // a step is a power of two
}

std::size_t buffer_pool::size_index(std::size_t capacity) {
  const unsigned log = static_cast<unsigned>(std::bit_width(capacity)) - 1;
  return (log - least_log) * steps_per_doubling + ((capacity >> (log - 2)) & (steps_per_doubling - 1));
}

packet_buffer buffer_pool::take(std::size_t packet_bytes) {
  const std::size_t capacity = charge_of(packet_bytes);
  auto& same_size = kept_buffers_[size_index(capacity)];
  packet_buffer buffer;
  buffer.capacity = static_cast<std::uint32_t>(capacity);
  if (!same_size.empty()) {
    buffer.data = std::move(same_size.back());
    same_size.pop_back();
    kept_ -= capacity;
  } else {
    make_way(capacity);
    buffer.data = payload_buffer(new_lines(header_room + capacity).release() + header_room);
  }
  out_ += capacity;
  return buffer;
}

void buffer_pool::give(packet_buffer&& buffer) {
  if (!buffer) return;
  const std::size_t capacity = buffer.capacity;
  out_ -= capacity;
  if (kept_ + capacity <= most_bytes_ / 2) {
    kept_ += capacity;
    kept_buffers_[size_index(capacity)].push_back(std::move(buffer.data));
  }
  buffer = {};
}

// Buffers kept in sizes that are not asked for any more give way to those that are.
void buffer_pool::make_way(std::size_t capacity) {
  if (out_ + kept_ + capacity <= most_bytes_) return;
  for (std::size_t i = size_count; i-- > 0;) {
    const std::size_t size = (steps_per_doubling + i % steps_per_doubling) << (i / steps_per_doubling + least_log - 2);
    auto& kept = kept_buffers_[i];
    while (!kept.empty()) {
      kept.pop_back();
      kept_ -= size;
      if (out_ + kept_ + capacity <= most_bytes_) return;
    }
  }
}

}  // namespace weft::reliable
