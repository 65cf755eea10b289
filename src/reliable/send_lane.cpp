#include "reliable/send_lane.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "base/bytes.h"

namespace weft::reliable {

namespace {

// A packet is lost when one that was sent this many transmissions later has been accepted.
constexpr std::uint64_t reorder_tolerance = 3;

constexpr std::size_t stream_bytes = std::size_t{128} << 10;

constexpr std::int32_t modular_difference(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::int32_t>(a - b);
}

}  // namespace

send_lane::send_lane(const seal& sealer, std::size_t buffer_bytes, std::size_t payload_capacity, nanoseconds ack_delay)
    : sealer_(&sealer),
      buffer_bytes_(buffer_bytes),
      payload_capacity_(payload_capacity),
      ack_delay_(ack_delay),
      pool_(buffer_bytes),
      window_(buffer_bytes) {}

// --- packing ----------------------------------------------------------------------------------------------------------------------

std::size_t send_lane::room_in_packet() const {
  if (!open_) return fresh_capacity();
  const std::size_t used = packets_[packets_.end() - 1].used;
  return used + chunk_head_bytes < payload_capacity_ ? payload_capacity_ - used - chunk_head_bytes : fresh_capacity();
}

std::size_t send_lane::record_offset(std::size_t record_bytes) const {
  return (joins_open(record_bytes) ? packets_[packets_.end() - 1].used : 0) + chunk_head_bytes;
}

// A packet that has to wait for others will be filled by what comes meanwhile; one that can leave at once will not.
std::size_t send_lane::opening_size(std::size_t needed) const {
  return next_ == packets_.end() ? needed : payload_capacity_;
}

// What the pool must give for a record: exactly what push() takes.
std::size_t send_lane::memory_for(std::size_t record_bytes) const {
  const std::size_t needed = chunk_head_bytes + record_bytes;
  if (open_) {
    const packet& p = packets_[packets_.end() - 1];
    if (p.used + needed <= p.storage.capacity && p.used + needed <= payload_capacity_) return 0;
    if (p.used + needed <= payload_capacity_) return charge_of(grown(p.used + needed));
  }
  if (needed <= payload_capacity_) return charge_of(opening_size(needed));
  return (record_bytes + fresh_capacity() - 1) / fresh_capacity() * charge_of(payload_capacity_);
}

bool send_lane::room(std::size_t record_bytes) const {
  return record_bytes <= most_record && pool_.bytes_out() + memory_for(record_bytes) <= buffer_bytes_;
}

// Opens a packet with room for `needed` bytes.
send_lane::packet& send_lane::open_packet(std::size_t needed) {
  packet_buffer storage = pool_.take(opening_size(needed));
  packet& p = packets_.push_back();
  p.storage = std::move(storage);
  open_ = true;
  hurried_ = false;
  return p;
}

// The open packet outgrows its buffer: it moves to one of twice the size, so each byte is moved about once.
void send_lane::reserve_in_open(std::size_t needed) {
  packet& p = packets_[packets_.end() - 1];
  if (p.used + needed <= p.storage.capacity) return;
  packet_buffer larger = pool_.take(grown(p.used + needed));
  std::memcpy(larger.data.get(), p.storage.data.get(), p.used);
  pool_.give(std::move(p.storage));
  p.storage = std::move(larger);
}

void send_lane::copy_in(packet& into, bytes from) {
  sealer_->copy(into.gathered, into.storage.data.get(), into.used, from);
  into.used += static_cast<std::uint32_t>(from.size());
}

// Takes head.size bytes off the front of first||second.
void send_lane::append(packet& into, const chunk& head, bytes& first, bytes& second) {
  std::byte chunk_head[chunk_head_bytes];
  store_chunk_head(chunk_head, head);
  copy_in(into, chunk_head);
  const std::size_t from_first = std::min(head.size, first.size());
  copy_in(into, first.first(from_first));
  copy_in(into, second.first(head.size - from_first));
  first = first.subspan(from_first);
  second = second.subspan(head.size - from_first);
}

// A record that fits a fresh packet is never taken apart, even if that leaves the open packet half empty: assembling it would cost
// the receiver more than the space is worth.
void send_lane::push(bytes head, bytes body) {
  const std::size_t size = head.size() + body.size();
  assert(size <= most_record && room(size));
  if (joins_open(size)) {
    reserve_in_open(chunk_head_bytes + size);
    append(packets_[packets_.end() - 1], {true, true, size}, head, body);
    return;
  }
  std::size_t left = size;
  do {
    const std::size_t part = std::min(left, fresh_capacity());
    append(open_packet(chunk_head_bytes + part), {left == size, part == left, part}, head, body);
    left -= part;
  } while (left != 0);
}

void send_lane::change_payload_capacity(std::size_t payload_capacity) {
  payload_capacity_ = payload_capacity;
  piece_offset_ = 0;
  // What is under way and too large now has most likely been dropped at the narrow place.
  for (std::uint64_t s = oldest(); s != next_; ++s) {
    packet& p = packets_[s];
    if (p.now == packet::state::under_way && p.used > payload_capacity_) lose(p);
  }
  lost_hint_ = oldest();
}

// --- acknowledgement --------------------------------------------------------------------------------------------------------------

send_lane::ack_outcome send_lane::acknowledge(nanoseconds now, const lane_ack& ack, bytes more, round_trip& path) {
  ack_outcome outcome;
  if (ack.next > next_) return {.impossible = true, .new_round = false, .losses_seen = 0};
  news n;
  if (modular_difference(ack.credit, credit_) > 0) {
    if (starved()) {
      n.progress = true;
      expired_ = 0;
    }
    credit_ = ack.credit;
  }
  while (oldest() < ack.next) {
    packet& p = packets_[oldest()];
    count_acknowledged(now, p, path, n);
    pool_.give(std::move(p.storage));
    packets_.pop_front();
  }
  if (modular_difference(ack.round, round_) > 0) {
    follow_round(ack.round);
    outcome.new_round = true;
    n.progress = true;
  }
  if (ack.round == round_) {  // acceptance in an earlier round means nothing now
    if (ack.sack != 0) take_sack_word(now, ack.next + 1, ack.sack, path, n);
    for (std::size_t i = 0; i < more.size() / 8; ++i)
      take_sack_word(now, ack.next + 1 + 64 * (i + 1), base::load<std::uint64_t>(more.data() + 8 * i), path, n);
  }
  if (n.measured >= 0) {
    path.sample(n.measured);
    expired_ = 0;  // not before: a timer that is too short for the path must stay backed off until the path has been measured
  }
  if (!n.progress) return outcome;
  tail_sent_ = false;
  outcome.losses_seen = find_losses(path);
  judge_window();
  rearm(now, path);
  return outcome;
}

void send_lane::count_acknowledged(nanoseconds now, packet& p, const round_trip& path, news& n) {
  if (p.now == packet::state::accepted) {  // reported before; only its buffer was still needed
    n.progress = true;
    return;
  }
  if (p.now == packet::state::under_way) bytes_under_way_ -= p.charge;
  if (p.now == packet::state::lost) --lost_;
  p.now = packet::state::accepted;
  n.progress = true;
  if (p.times_sent == 1 && p.used <= payload_capacity_ && p.transmission > n.measured_transmission) {
    n.measured = now - p.sent_at;
    n.measured_transmission = p.transmission;
  }
  // An answer faster than any other is most likely one to an earlier copy that was merely overtaken, and says nothing of what was
  // sent after that. After a time of silence there is no such doubt.
  if (p.transmission > latest_accepted_ && (!p.overtaken || now - p.sent_at >= path.fastest())) {
    latest_accepted_ = p.transmission;
    latest_accepted_sent_at_ = p.sent_at;
  }
  judged_accepted_ += p.charge;
}

// Once for each window's worth: a packet more, or half as much if more than a quarter was lost. Random loss is not that frequent; an
// overrun socket buffer is.
void send_lane::judge_window() {
  const std::size_t judged = judged_accepted_ + judged_lost_;
  if (judged < window_) return;
  if (judged_lost_ > judged / 4)
    window_ = std::max(least_window(), window_ / 2);
  else
    window_ = std::min(buffer_bytes_, window_ + charge_of(payload_capacity_));
  judged_accepted_ = judged_lost_ = 0;
}

void send_lane::take_sack_word(nanoseconds now, std::uint64_t first, std::uint64_t word, const round_trip& path, news& n) {
  for (; word != 0; word &= word - 1) {
    const std::uint64_t sequence = first + static_cast<unsigned>(__builtin_ctzll(word));
    if (sequence >= next_) return;
    if (sequence < oldest()) continue;
    packet& p = packets_[sequence];
    if (p.now != packet::state::accepted) count_acknowledged(now, p, path, n);
  }
}

// StarT-JR 3.2.4: unacknowledged packets are treated as if they were negatively acknowledged, and retried in the new round.
void send_lane::follow_round(std::uint32_t round) {
  round_ = round;
  piece_offset_ = 0;
  for (std::uint64_t s = oldest(); s != next_; ++s) {
    packet& p = packets_[s];
    if (p.now == packet::state::under_way) lose(p);
    if (p.now == packet::state::accepted) {
      p.now = packet::state::lost;
      ++lost_;
    }
  }
  lost_hint_ = oldest();
}

// A packet is lost if one sent sufficiently later has been accepted: later by count, or by a good part of a round trip.
std::uint64_t send_lane::find_losses(const round_trip& path) {
  std::uint64_t found = 0;
  const nanoseconds tolerance = std::max<nanoseconds>(path.smoothed() / 2, 1);
  for (std::uint64_t s = oldest(); s != next_; ++s) {
    packet& p = packets_[s];
    if (p.now != packet::state::under_way) continue;
    if (p.transmission > latest_accepted_) {
      if (p.times_sent == 1) break;  // whatever follows it was sent even later
      continue;
    }
    if (latest_accepted_ < p.transmission + reorder_tolerance && latest_accepted_sent_at_ - p.sent_at < tolerance) continue;
    lose(p);
    p.overtaken = true;
    judged_lost_ += p.charge;
    lost_hint_ = std::min(lost_hint_, s);
    ++found;
  }
  return found;
}

void send_lane::lose(packet& p) {
  p.now = packet::state::lost;
  bytes_under_way_ -= p.charge;
  ++lost_;
}

void send_lane::rearm(nanoseconds now, const round_trip& path) {
  retry_at_ = oldest() == next_ ? never : now + path.retry_after(expired_);
  tail_at_ = bytes_under_way_ == 0 ? never : tail_time(now, path);
}

bool send_lane::expire(nanoseconds now, const round_trip& path) {
  if (retry_at_ == never && starved()) retry_at_ = now + path.retry_after(expired_);
  if (now < retry_at_) return false;
  for (std::uint64_t s = oldest(); s != next_; ++s)
    if (packets_[s].now == packet::state::under_way) {
      lose(packets_[s]);
      packets_[s].overtaken = false;
    }
  lost_hint_ = oldest();
  piece_offset_ = 0;
  if (oldest() != next_) window_ = std::max(least_window(), window_ / 2);
  judged_accepted_ = judged_lost_ = 0;
  ++expired_;
  tail_sent_ = true;  // the retry itself will tell
  tail_at_ = never;
  retry_at_ = now + path.retry_after(expired_);
  return true;
}

// --- selection --------------------------------------------------------------------------------------------------------------------

bool send_lane::credit_for(const packet& p) const {
  return modular_difference(credit_, charged_ + static_cast<std::uint32_t>(charge_of(p.used))) >= 0;
}

bool send_lane::ready() const {
  if (piece_offset_ != 0) return true;
  if (lost_ != 0) return bytes_under_way_ == 0;
  return may_start_new();
}

// Behind so much that is under way, a short packet loses nothing if it waits for more to fill it: it could not be delivered before
// what is ahead of it, and the next acknowledgement lets it go. A stream then consists of full packets.
bool send_lane::better_filled(const packet& p) const {
  return open_ && !hurried_ && next_ + 1 == packets_.end() && p.used < payload_capacity_ / 2 && bytes_under_way_ >= stream_bytes;
}

bool send_lane::may_start_new() const {
  if (next_ == packets_.end() || next_ - oldest() >= most_ahead) return false;
  const packet& p = packets_[next_];
  return credit_for(p) && window_for(charge_of(p.used)) && !better_filled(p);
}

// What was lost goes strictly before what is new: the receiver cannot consume anything beyond it.
bool send_lane::select(nanoseconds now, const round_trip& path, selection& chosen) {
  if (select_piece(chosen)) return true;
  if (lost_ != 0 ? !select_lost(chosen) : !select_new(chosen) && !select_tail(now, chosen)) return false;
  start(now, path, chosen);
  return true;
}

// The next piece of a packet that has been started.
bool send_lane::select_piece(selection& chosen) {
  if (piece_offset_ == 0) return false;
  if (!packets_.contains(piece_of_) || packets_[piece_of_].now != packet::state::under_way) {  // acknowledged meanwhile
    piece_offset_ = 0;
    return false;
  }
  packet& p = packets_[piece_of_];
  const std::size_t most = payload_capacity_ / piece_unit * piece_unit;
  const std::size_t size = std::min(most, p.used - piece_offset_);
  chosen = {
      .sequence = piece_of_, .packet = &p, .offset = piece_offset_, .size = size, .again = p.times_sent > 1, .tail_probe = false};
  piece_offset_ += chosen.size;
  if (piece_offset_ >= p.used) piece_offset_ = 0;
  return true;
}

bool send_lane::select_lost(selection& chosen) {
  std::uint64_t s = std::max(lost_hint_, oldest());
  while (packets_[s].now != packet::state::lost) ++s;
  lost_hint_ = s;
  packet& p = packets_[s];
  if (!window_for(p.charge)) return false;
  --lost_;
  bytes_under_way_ += p.charge;
  chosen = {.sequence = s, .packet = &p, .offset = 0, .size = p.used, .again = true, .tail_probe = false};
  return true;
}

bool send_lane::select_new(selection& chosen) {
  if (!may_start_new()) return false;
  packet& p = packets_[next_];
  const std::size_t charge = charge_of(p.used);
  p.charge = static_cast<std::uint32_t>(charge);
  charged_ += p.charge;
  bytes_under_way_ += p.charge;
  chosen = {.sequence = next_, .packet = &p, .offset = 0, .size = p.used, .again = false, .tail_probe = false};
  ++next_;
  if (next_ == packets_.end()) open_ = false;
  return true;
}

// The last packets of a burst have no later ones whose acceptance would show their loss: the last is sent again early.
bool send_lane::select_tail(nanoseconds now, selection& chosen) {
  if (now < tail_at_ || tail_sent_ || bytes_under_way_ == 0) return false;
  tail_at_ = never;
  tail_sent_ = true;
  for (std::uint64_t s = next_; s-- != oldest();) {
    packet& p = packets_[s];
    if (p.now != packet::state::under_way) continue;
    p.overtaken = false;
    chosen = {.sequence = s, .packet = &p, .offset = 0, .size = p.used, .again = true, .tail_probe = true};
    return true;
  }
  return false;
}

void send_lane::start(nanoseconds now, const round_trip& path, selection& chosen) {
  packet& p = *chosen.packet;
  p.now = packet::state::under_way;
  p.sent_at = now;
  p.transmission = ++transmissions_;
  ++p.times_sent;
  if (p.used > payload_capacity_) {  // packed for a wider path
    chosen.size = payload_capacity_ / piece_unit * piece_unit;
    piece_of_ = chosen.sequence;
    piece_offset_ = chosen.size;
  }
  if (retry_at_ == never || chosen.tail_probe) retry_at_ = now + path.retry_after(expired_);
  if (!tail_sent_) tail_at_ = tail_time(now, path);
}

send_lane::nanoseconds send_lane::tail_time(nanoseconds now, const round_trip& path) const {
  return path.known() ? now + 2 * (path.smoothed() + ack_delay_) : never;
}

send_lane::nanoseconds send_lane::deadline() const {
  if (bytes_under_way_ == 0 || tail_sent_ || lost_ != 0) return retry_at_;
  return std::min(retry_at_, tail_at_);
}

}  // namespace weft::reliable
