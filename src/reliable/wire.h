// The header of a weft datagram: its layout, how it is written and how it is checked. docs/wire-format.md says every byte.
//
// A datagram is a header of fixed size and a payload. Nothing of it is believed before check() has passed: it must be for this job,
// for this node, from the peer that the link belongs to, of this version, as long as it says, and carry a valid tag.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include <weft/port.h>

#include "reliable/seal.h"

namespace weft::reliable {

inline constexpr std::uint8_t wire_version = 1;
inline constexpr std::size_t header_bytes = 96;
inline constexpr std::size_t tag_bytes = 8;
inline constexpr std::size_t most_datagram_bytes = 65507;  // what UDP over IPv4 carries
inline constexpr std::size_t least_datagram_bytes = 640;
inline constexpr node_id most_nodes = 65536;  // node numbers travel in 16 bits

// A packet that outgrew the path is sent in pieces whose bounds are multiples of this.
inline constexpr std::size_t piece_unit = 512;
inline constexpr std::size_t most_pieces = 128;

// No more than this many packets after the oldest unacknowledged one are under way: what the acknowledgements can describe.
inline constexpr std::size_t most_ahead = 1024;

// What a sender may charge before it has heard of its peer's credit.
inline constexpr std::uint32_t first_credit = 128 << 10;

enum class datagram_kind : std::uint8_t {
  data,   // a packet of a lane, or a piece of one
  ack,    // nothing but acknowledgements
  probe,  // asks for a sign of life; answered at once
  probe_answer,
  round,  // an acknowledgement that announces a new round
};
inline constexpr std::uint8_t most_kind = 4;

// What one lane's receiver tells its sender, on every datagram.
struct lane_ack {
  std::uint64_t next = 0;    // every packet before this one has been accepted for good
  std::uint64_t sack = 0;    // bit i: packet next + 1 + i has been accepted in this round
  std::uint32_t round = 0;   // of the receiver; acceptance that `sack` reports ends with it
  std::uint32_t credit = 0;  // what the charges of all packets sent may add up to, modulo 2^32
};

// In memory as on the wire: little-endian, naturally aligned, no padding.
struct header {
  std::uint64_t tag = 0;
  std::uint64_t group = 0;
  std::uint8_t version = wire_version;
  datagram_kind kind = datagram_kind::data;
  weft::lane lane = weft::lane::request;
  std::uint8_t piece = 0;  // where the payload starts in its packet, in piece_units
  std::uint16_t source = 0;
  std::uint16_t destination = 0;
  std::uint32_t source_incarnation = 0;       // chosen afresh whenever a process starts; never 0
  std::uint32_t destination_incarnation = 0;  // 0 while the sender has not heard from the destination
  std::uint64_t sequence = 0;                 // data: number of the packet in its lane
  std::uint32_t round = 0;                    // data: the lane's round as the sender knows it
  std::uint16_t payload_bytes = 0;            // in this datagram
  std::uint16_t packet_bytes = 0;             // data: of the whole packet
  std::array<lane_ack, lanes> acks{};
};
static_assert(sizeof(header) == header_bytes && alignof(header) == 8);
static_assert(std::is_trivially_copyable_v<header>);

// What happened to a datagram that was handed to a link.
enum class verdict : std::uint8_t {
  // Valid and of use.
  data,     // brought a packet, or a piece, that had not arrived before
  control,  // brought acknowledgements, a probe or an answer
  // Valid, but its payload was dropped; the sender will learn what it needs.
  duplicate,    // the packet had arrived already
  stale_round,  // sent before the sender heard of the current round
  refused,      // no room: beyond the credit that was given
  // Dropped unread.
  too_short,
  wrong_version,
  wrong_group,  // another job's
  wrong_destination,
  wrong_source,
  wrong_length,
  bad_tag,
  malformed,          // a valid tag on something that no correct sender makes
  wrong_incarnation,  // from or for a former process with this node number
  ended,              // the link has ended; see link::why()
};
inline constexpr std::size_t verdicts = 15;

constexpr bool rejected(verdict v) {
  return v >= verdict::too_short;
}
const char* to_string(verdict v) noexcept;

// Whom a datagram must be from and for.
struct addressing {
  std::uint64_t group = 0;
  node_id self = 0;
  node_id peer = 0;
};

// The whole check in one. On success (verdict::control, whatever the kind) `into` is the header and `payload` what follows it.
// Nothing else may look at a datagram before.
verdict check(bytes datagram, const addressing& expected, const seal& sealer, header& into, bytes& payload);

// Which node a datagram says it is from, unchecked: for finding the link whose receive() will check it.
std::optional<node_id> claimed_source(bytes datagram);

using header_buffer = std::array<std::byte, header_bytes>;

// The header as bytes with its tag in place. The tag covers `payload`, or what its cached digest says of it.
void format(header h, bytes payload, const seal& sealer, header_buffer& into);
void format(header h, const seal::digest& payload, const seal& sealer, header_buffer& into);

}  // namespace weft::reliable
