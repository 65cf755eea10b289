// What travels in a message of libfabric: a header, then a piece of a weft message (its words, then its payload). A weft message is cut
// into frames of at most a slot; the frames of a lane are numbered, so their order does not depend on the provider's.
//
// Credits. A node may have `credits` frames of each lane under way to a peer; the peer returns them in the headers of what it sends,
// or in a control frame when it keeps back half of them. So a full request lane never takes the buffers of the reply lane, and no
// provider ever finds a receive queue empty.
#pragma once

#include <algorithm>
#include <cstdint>

#include <weft/port.h>

namespace weft::fabric::ofi {

enum class frame_kind : std::uint8_t { message = 1, control = 2 };

struct frame_header {
  std::uint64_t group = 0;  // of the job
  std::uint32_t source = 0;
  std::uint32_t sequence = 0;  // among the frames of this lane from this source
  std::uint32_t payload = 0;   // bytes, of the whole message
  handler_id handler = 0;
  frame_kind kind = frame_kind::message;
  weft::lane lane = lane::request;
  std::uint8_t words = 0;
  std::uint8_t index = 0;              // which frame of the message
  std::uint16_t returned[lanes] = {};  // credits, by lane
  std::uint16_t flags = 0;             // of a control frame

  static constexpr std::uint16_t ping = 1, pong = 2;

  std::size_t body() const noexcept { return words * sizeof(word) + payload; }
};
static_assert(sizeof(frame_header) == 32 && alignof(frame_header) == 8);

inline constexpr std::size_t largest_body = most_words * sizeof(word) + most_payload;

// A receiver tells of returned credits when it keeps back this many.
constexpr std::uint32_t credits_kept(std::uint32_t credits) noexcept {
  return std::max(1u, credits / 2);
}

constexpr std::size_t frames_of(std::size_t body, std::size_t slot) noexcept {
  const std::size_t room = slot - sizeof(frame_header);
  return body <= room ? 1 : (body + room - 1) / room;
}

}  // namespace weft::fabric::ofi
