#include "reliable/receive_lane.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>

namespace weft::reliable {

receive_lane::receive_lane(std::size_t buffer_bytes, std::size_t credit_bytes)
    : buffer_bytes_(buffer_bytes),
      credit_bytes_(static_cast<std::uint32_t>(credit_bytes)),
      reserve_(credit_bytes > buffer_bytes ? most_packet_buffer : 0),
      pool_(buffer_bytes),
      told_credit_(credit_bytes_) {}  // the first acknowledgement says it anyway; an unused lane has no news

// --- accepting --------------------------------------------------------------------------------------------------------------------

receive_lane::outcome receive_lane::accept(const header& h, bytes payload) {
  if (h.round != round_) return {verdict::stale_round, true};
  if (h.sequence < next_) return {verdict::duplicate, true};
  if (h.sequence - next_ >= most_ahead) return {verdict::refused, true};
  if (packets_.contains(h.sequence) && packets_[h.sequence].complete()) return {verdict::duplicate, true};
  const bool had_gap = gap();
  outcome result = h.payload_bytes == h.packet_bytes ? accept_whole(h.sequence, payload) : accept_piece(h, payload);
  if (result.what == verdict::data) advance();
  result.out_of_order = result.out_of_order || had_gap || gap();
  return result;
}

receive_lane::outcome receive_lane::accept_whole(std::uint64_t sequence, bytes payload) {
  const std::size_t charge = charge_of(payload.size());
  if (packets_.contains(sequence)) drop(packets_[sequence]);  // pieces of it: no longer needed
  if (!make_room(sequence, charge)) return {verdict::refused, true};
  packet& p = at(sequence);
  p.size = static_cast<std::uint32_t>(payload.size());
  p.charge = static_cast<std::uint32_t>(charge);
  held_ += charge;
  if (sequence == next_) {
    p.payload = payload;
    p.now = packet::state::borrowed;
    borrowed_ = true;
    borrowed_sequence_ = sequence;
  } else {
    p.storage = pool_.take(payload.size());
    std::memcpy(p.storage.data.get(), payload.data(), payload.size());
    p.payload = {p.storage.data.get(), payload.size()};
    p.now = packet::state::stored;
  }
  return {verdict::data, false};
}

receive_lane::outcome receive_lane::accept_piece(const header& h, bytes payload) {
  if (!packets_.contains(h.sequence) || packets_[h.sequence].now == packet::state::missing) {
    const std::size_t charge = charge_of(h.packet_bytes);
    if (!make_room(h.sequence, charge)) return {verdict::refused, true};
    packet& fresh = at(h.sequence);
    fresh.size = h.packet_bytes;
    fresh.charge = static_cast<std::uint32_t>(charge);
    fresh.storage = pool_.take(h.packet_bytes);
    fresh.now = packet::state::partial;
    fresh.pieces = std::make_unique<std::array<std::uint64_t, 2>>();
    const std::size_t units = (h.packet_bytes + piece_unit - 1) / piece_unit;
    for (std::size_t u = 0; u < units; ++u) (*fresh.pieces)[u / 64] |= std::uint64_t{1} << u % 64;
    held_ += charge;
  }
  packet& p = packets_[h.sequence];
  if (p.size != h.packet_bytes) return {verdict::malformed, false};
  std::memcpy(p.storage.data.get() + h.piece * piece_unit, payload.data(), payload.size());
  const std::size_t end = h.piece + (payload.size() + piece_unit - 1) / piece_unit;
  for (std::size_t u = h.piece; u < end; ++u) (*p.pieces)[u / 64] &= ~(std::uint64_t{1} << u % 64);
  if (((*p.pieces)[0] | (*p.pieces)[1]) == 0) {
    p.pieces.reset();
    p.payload = {p.storage.data.get(), p.size};
    p.now = packet::state::stored;
  }
  return {verdict::data, false};
}

// The packet that is next in order goes before those that are not: without it nothing that is held can ever be consumed. While it is
// refused, accepting others would only have the sender believe it lost, and send it again for nothing.
bool receive_lane::make_room(std::uint64_t sequence, std::size_t charge) {
  if (sequence != next_) return fits(refused_charge_) && fits(charge + reserve_);
  refused_charge_ = 0;
  if (fits(charge)) return true;
  std::size_t out_of_order = 0;
  for (std::uint64_t s = next_; s != packets_.end(); ++s) out_of_order += packets_[s].charge;
  if (held_ - out_of_order + charge <= buffer_bytes_) return discard();
  refused_charge_ = charge;
  return false;
}

receive_lane::packet& receive_lane::at(std::uint64_t sequence) {
  while (packets_.end() <= sequence) packets_.push_back();
  return packets_[sequence];
}

void receive_lane::advance() {
  while (next_ != packets_.end() && packets_[next_].complete()) ++next_;
}

void receive_lane::drop(packet& p) {
  held_ -= p.charge;
  pool_.give(std::move(p.storage));
  p = packet{};
}

bool receive_lane::discard() {
  bool any = false;
  while (packets_.end() > next_) {
    packet& last = packets_[packets_.end() - 1];
    any = any || last.now != packet::state::missing;
    drop(last);
    packets_.pop_back();
  }
  if (any) {
    ++round_;
    ++rounds_started_;
  }
  return any;
}

// --- acknowledging ----------------------------------------------------------------------------------------------------------------

lane_ack receive_lane::advertise() {
  lane_ack ack;
  ack.next = next_;
  ack.round = round_;
  ack.credit = told_credit_ = credit_now();
  const std::uint64_t end = std::min(packets_.end(), next_ + 1 + 64);
  for (std::uint64_t s = next_ + 1; s < end; ++s)
    if (packets_[s].complete()) ack.sack |= std::uint64_t{1} << (s - next_ - 1);
  return ack;
}

std::size_t receive_lane::more_sack(std::array<std::uint64_t, most_ahead / 64>& words) const {
  words = {};
  const std::uint64_t first = next_ + 1 + 64;
  std::size_t used = 0;
  for (std::uint64_t s = first; s < packets_.end(); ++s) {
    if (!packets_[s].complete()) continue;
    const auto bit = static_cast<std::size_t>(s - first);
    words[bit / 64] |= std::uint64_t{1} << bit % 64;
    used = bit / 64 + 1;
  }
  return used;
}

// --- reading ----------------------------------------------------------------------------------------------------------------------

std::optional<bytes> receive_lane::front() {
  while (!ready_) {
    if (broken_ || packets_.begin() == next_) return std::nullopt;
    if (!take_chunk()) return std::nullopt;
  }
  return record_;
}

// Reads one chunk; false if it makes no sense.
bool receive_lane::take_chunk() {
  const bytes rest = packets_[packets_.begin()].payload.subspan(offset_);
  const auto c = load_chunk(rest);
  const bool fits_assembly = c && (c->first || assembly_.size() + c->size <= most_record);
  if (!c || c->first == assembling_ || !fits_assembly || c->size > most_record) {
    broken_ = true;
    return false;
  }
  const bytes content = rest.subspan(chunk_head_bytes, c->size);
  if (c->first && c->last) {  // the usual case: used where it lies, until pop()
    record_ = content;
    assembled_ = false;
    ready_ = true;
    return true;
  }
  if (c->first) {
    assembly_.clear();
    assembly_.reserve(most_record);
  }
  assembly_.insert(assembly_.end(), content.begin(), content.end());
  assembling_ = !c->last;
  offset_ += chunk_head_bytes + c->size;
  if (offset_ == packets_[packets_.begin()].size) consume_packet();
  if (c->last) {
    record_ = assembly_;
    assembled_ = true;
    ready_ = true;
  }
  return true;
}

void receive_lane::pop() {
  assert(ready_);
  ready_ = false;
  if (assembled_) return;
  offset_ += chunk_head_bytes + record_.size();
  if (offset_ == packets_[packets_.begin()].size) consume_packet();
}

void receive_lane::consume_packet() {
  packet& p = packets_[packets_.begin()];
  if (borrowed_ && borrowed_sequence_ == packets_.begin()) borrowed_ = false;
  consumed_ += p.charge;
  drop(p);
  packets_.pop_front();
  offset_ = 0;
}

void receive_lane::settle() {
  if (!borrowed_) return;
  borrowed_ = false;
  packet& p = packets_[borrowed_sequence_];
  p.storage = pool_.take(p.size);
  const bool reading = borrowed_sequence_ == packets_.begin();
  const std::size_t consumed = reading ? offset_ : 0;
  std::memcpy(p.storage.data.get() + consumed, p.payload.data() + consumed, p.size - consumed);
  p.payload = {p.storage.data.get(), p.size};
  p.now = packet::state::stored;
  if (reading && ready_ && !assembled_) record_ = p.payload.subspan(offset_ + chunk_head_bytes, record_.size());
}

}  // namespace weft::reliable
