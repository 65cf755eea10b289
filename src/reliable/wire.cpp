#include "reliable/wire.h"

#include <cstddef>
#include <cstring>

#include "base/bytes.h"

namespace weft::reliable {

static_assert(offsetof(header, tag) == 0 && offsetof(header, group) == 8 && offsetof(header, version) == 16 &&
              offsetof(header, kind) == 17 && offsetof(header, lane) == 18 && offsetof(header, piece) == 19 &&
              offsetof(header, source) == 20 && offsetof(header, destination) == 22 && offsetof(header, source_incarnation) == 24 &&
              offsetof(header, destination_incarnation) == 28 && offsetof(header, sequence) == 32 &&
              offsetof(header, round) == 40 && offsetof(header, payload_bytes) == 44 && offsetof(header, packet_bytes) == 46 &&
              offsetof(header, acks) == 48);
static_assert(offsetof(lane_ack, next) == 0 && offsetof(lane_ack, sack) == 8 && offsetof(lane_ack, round) == 16 &&
              offsetof(lane_ack, credit) == 20 && sizeof(lane_ack) == 24);

const char* to_string(verdict v) noexcept {
  switch (v) {
    case verdict::data: return "data";
    case verdict::control: return "control";
    case verdict::duplicate: return "duplicate";
    case verdict::stale_round: return "stale round";
    case verdict::refused: return "refused";
    case verdict::too_short: return "too short";
    case verdict::wrong_version: return "wrong version";
    case verdict::wrong_group: return "wrong group";
    case verdict::wrong_destination: return "wrong destination";
    case verdict::wrong_source: return "wrong source";
    case verdict::wrong_length: return "wrong length";
    case verdict::bad_tag: return "bad tag";
    case verdict::malformed: return "malformed";
    case verdict::wrong_incarnation: return "wrong incarnation";
    case verdict::ended: return "ended";
  }
  return "unknown";
}

namespace {

// What only a sender that holds the key, but is not a correct one, could have written.
bool well_formed(const header& h) {
  if (static_cast<std::uint8_t>(h.kind) > most_kind || static_cast<std::uint8_t>(h.lane) >= lanes) return false;
  if (h.source_incarnation == 0) return false;
  if (h.kind != datagram_kind::data) return h.sequence == 0 && h.round == 0 && h.packet_bytes == 0 && h.piece == 0;
  if (h.payload_bytes == 0) return false;
  const std::size_t start = h.piece * piece_unit, end = start + h.payload_bytes;
  if (end > h.packet_bytes) return false;
  return end == h.packet_bytes || h.payload_bytes % piece_unit == 0;
}

bytes after_tag(const header_buffer& b) {
  return bytes(b).subspan(tag_bytes);
}

}  // namespace

verdict check(bytes datagram, const addressing& expected, const seal& sealer, header& into, bytes& payload) {
  if (datagram.size() < header_bytes) return verdict::too_short;
  into = base::load<header>(datagram.data());
  if (into.version != wire_version) return verdict::wrong_version;
  if (into.group != expected.group) return verdict::wrong_group;
  if (into.destination != expected.self) return verdict::wrong_destination;
  if (into.source != expected.peer) return verdict::wrong_source;
  if (datagram.size() != header_bytes + into.payload_bytes) return verdict::wrong_length;
  if (!sealer.verify(into.tag, datagram.subspan(tag_bytes), header_bytes - tag_bytes)) return verdict::bad_tag;
  if (!well_formed(into)) return verdict::malformed;
  payload = datagram.subspan(header_bytes);
  return verdict::control;
}

std::optional<node_id> claimed_source(bytes datagram) {
  if (datagram.size() < header_bytes) return std::nullopt;
  return base::load<std::uint16_t>(datagram.data() + offsetof(header, source));
}

void format(header h, bytes payload, const seal& sealer, header_buffer& into) {
  std::memcpy(into.data(), &h, sizeof h);
  base::store(into.data(), sealer.tag(after_tag(into), payload));
}

void format(header h, const seal::digest& payload, const seal& sealer, header_buffer& into) {
  std::memcpy(into.data(), &h, sizeof h);
  base::store(into.data(), sealer.tag(after_tag(into), payload));
}

}  // namespace weft::reliable
