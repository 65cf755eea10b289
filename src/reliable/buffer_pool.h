// Packet buffers in a few dozen sizes, four to each doubling, recycled: in the steady state a lane allocates nothing, and a packet of
// 100 bytes does not occupy 64 KiB. Not thread-safe.
//
// Bound: what has been given out plus what is kept for reuse never exceeds `most_bytes` by more than the largest size, and at most
// half of `most_bytes` is kept. The owner sees to it that it does not hold more than `most_bytes` itself.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

namespace weft::reliable {

// Begins with a cache line: payloads are copied and hashed by whole lines.
struct free_lines {
  void operator()(std::byte* lines) const { ::operator delete[](lines, line_alignment); }
  static constexpr std::align_val_t line_alignment{64};
};
using line_buffer = std::unique_ptr<std::byte[], free_lines>;

inline line_buffer new_lines(std::size_t bytes) {
  return line_buffer(static_cast<std::byte*>(::operator new[](bytes, free_lines::line_alignment)));
}

// In front of a packet's payload there is room for a header, so that both can leave in one piece.
inline constexpr std::size_t header_room = 128;
struct free_payload {
  void operator()(std::byte* payload) const { free_lines()(payload - header_room); }
};
using payload_buffer = std::unique_ptr<std::byte[], free_payload>;

struct packet_buffer {
  payload_buffer data;
  std::uint32_t capacity = 0;

  explicit operator bool() const { return data != nullptr; }
};

inline constexpr std::size_t least_packet_buffer = 256;
inline constexpr std::size_t most_packet_buffer = std::size_t{1} << 16;

// The size of the buffer that holds a packet of this many bytes. Also what such a packet is charged in flow control: both ends must
// agree on it, so it is part of the wire format.
std::size_t charge_of(std::size_t packet_bytes);

class buffer_pool {
 public:
  explicit buffer_pool(std::size_t most_bytes) : most_bytes_(most_bytes) {}

  // A buffer of charge_of(packet_bytes).
  packet_buffer take(std::size_t packet_bytes);
  void give(packet_buffer&& buffer);

  std::size_t bytes_out() const { return out_; }

 private:
  static constexpr std::size_t size_count = 33;
  static std::size_t size_index(std::size_t capacity);

  void make_way(std::size_t capacity);

  std::size_t most_bytes_;
  std::size_t out_ = 0, kept_ = 0;
  std::array<std::vector<payload_buffer>, size_count> kept_buffers_;
};

}  // namespace weft::reliable
