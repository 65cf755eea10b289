#include "reliable/link.h"

#include <sodium.h>

#include <algorithm>
#include <cassert>
#include <cstring>

#include "base/bytes.h"

namespace weft::reliable {

namespace {

constexpr std::size_t most_buffer_bytes = std::size_t{1} << 30;  // credit is counted modulo 2^32
constexpr unsigned questions_before_silence = 3;
constexpr std::size_t most_owed_packets = 32;
constexpr std::size_t large_packet = 16384;

}  // namespace

const char* to_string(end_cause cause) noexcept {
  switch (cause) {
    case end_cause::none: return "alive";
    case end_cause::silent: return "silent";
    case end_cause::peer_restarted: return "peer restarted";
    case end_cause::peer_broken: return "peer broken";
  }
  return "unknown";
}

link_options link::sane(link_options o) {
  assert(o.sealer != nullptr && o.self < most_nodes && o.peer < most_nodes);
  o.datagram_bytes = std::clamp(o.datagram_bytes, least_datagram_bytes, most_datagram_bytes);
  for (std::size_t l = 0; l < lanes; ++l) {
    o.send_buffer_bytes[l] = std::clamp(o.send_buffer_bytes[l], least_buffer_bytes, most_buffer_bytes);
    o.receive_buffer_bytes[l] = std::clamp(o.receive_buffer_bytes[l], least_buffer_bytes, most_buffer_bytes);
    if (o.credit_bytes[l] == 0) o.credit_bytes[l] = o.receive_buffer_bytes[l];
    o.credit_bytes[l] = std::clamp<std::size_t>(o.credit_bytes[l], first_credit, most_buffer_bytes);
  }
  o.max_retry = std::max<nanoseconds>(std::min(o.max_retry, o.dead_after / 4), 1);
  o.min_retry = std::clamp<nanoseconds>(o.min_retry, 1, o.max_retry);
  o.probe_interval = std::max<nanoseconds>(std::min(o.probe_interval, o.dead_after / 4), 1);
  while (o.incarnation == 0) o.incarnation = randombytes_random();
  return o;
}

link::link(const link_options& options)
    : options_(sane(options)),
      addressing_{options_.group, options_.self, options_.peer},
      payload_capacity_(options_.datagram_bytes - header_bytes),
      senders_{send_lane(*options_.sealer, options_.send_buffer_bytes[0], payload_capacity_, options_.ack_delay),
               send_lane(*options_.sealer, options_.send_buffer_bytes[1], payload_capacity_, options_.ack_delay)},
      receivers_{receive_lane(options_.receive_buffer_bytes[0], options_.credit_bytes[0]),
                 receive_lane(options_.receive_buffer_bytes[1], options_.credit_bytes[1])},
      round_trip_(options_.min_retry, options_.max_retry) {}

// --- from above -------------------------------------------------------------------------------------------------------------------

bool link::room(weft::lane which, std::size_t record_bytes) const {
  return senders_[index(which)].room(record_bytes);
}

std::size_t link::room_in_packet(weft::lane which) const {
  return senders_[index(which)].room_in_packet();
}

std::size_t link::record_offset(weft::lane which, std::size_t record_bytes) const {
  return senders_[index(which)].record_offset(record_bytes);
}

void link::push(weft::lane which, bytes head, bytes body) {
  senders_[index(which)].push(head, body);
  ++statistics_.records_out[index(which)];
}

void link::hurry() {
  for (auto& sender : senders_) sender.hurry();
}

// --- from the network -------------------------------------------------------------------------------------------------------------

verdict link::receive(nanoseconds now, bytes datagram) {
  settle();
  clock_ = std::max(clock_, now);
  header h;
  bytes payload;
  verdict v = check(datagram, addressing_, *options_.sealer, h, payload);
  if (v == verdict::control) v = check_incarnation(h);
  if (v == verdict::control) {
    heard();
    const bool is_data = h.kind == datagram_kind::data;
    v = take_acks(now, h, is_data ? bytes{} : payload);
    if (v == verdict::control && h.kind == datagram_kind::probe) answer_wanted_ = true;
    if (v == verdict::control && is_data) v = take_data(now, h, payload);
  }
  if (rejected(v)) {
    ++statistics_.rejected[static_cast<std::size_t>(v)];
    return v;
  }
  ++statistics_.datagrams_in;
  statistics_.bytes_in += datagram.size();
  return v;
}

// A datagram of another incarnation is news only if it is addressed to this very process: what a former peer said to a former us,
// or said before it knew us, may have been under way for long.
verdict link::check_incarnation(const header& h) {
  if (ended_ != end_cause::none) return verdict::ended;
  const bool for_former_self = h.destination_incarnation != 0 && h.destination_incarnation != options_.incarnation;
  const bool from_other = peer_incarnation_ != 0 && h.source_incarnation != peer_incarnation_;
  if (!for_former_self && !from_other) {
    peer_incarnation_ = h.source_incarnation;
    return verdict::control;
  }
  if (from_other && h.destination_incarnation == options_.incarnation) {
    ended_ = end_cause::peer_restarted;
    return verdict::ended;
  }
  stranger_ = h.source_incarnation;  // it is told who is here now
  return verdict::wrong_incarnation;
}

void link::heard() {
  last_heard_ = clock_;
  silent_since_ = never;
  unanswered_ = 0;
}

// The payload of an acknowledgement continues its bitmaps: for each lane concerned a number, a count of words, two zeros, the words.
verdict link::take_acks(nanoseconds now, const header& h, bytes extension) {
  std::array<bytes, lanes> more;
  base::reader in(extension);
  while (in.left() != 0) {
    const auto which = in.take<std::uint8_t>(), words = in.take<std::uint8_t>();
    const auto zero = in.take<std::uint16_t>();
    const bytes bitmap = in.take_bytes(std::size_t{8} * words);
    if (!in.ok() || which >= lanes || zero != 0 || words > most_ahead / 64) return verdict::malformed;
    more[which] = bitmap;
  }
  for (std::size_t l = 0; l < lanes; ++l) {
    const auto outcome = senders_[l].acknowledge(now, h.acks[l], more[l], round_trip_);
    if (outcome.impossible) {  // it knows of packets that this process never sent: one of the two is not who it was
      ended_ = end_cause::peer_restarted;
      return verdict::ended;
    }
    statistics_.losses_seen += outcome.losses_seen;
    if (outcome.new_round) ++statistics_.rounds_followed;
  }
  return verdict::control;
}

verdict link::take_data(nanoseconds now, const header& h, bytes payload) {
  receive_lane& lane = receivers_[index(h.lane)];
  const auto rounds = lane.rounds_started();
  const auto outcome = lane.accept(h, payload);
  if (lane.rounds_started() != rounds) {
    ++statistics_.rounds_announced;
    announce_round_ = true;
  }
  if (outcome.what == verdict::duplicate) ++statistics_.duplicates;
  if (outcome.what == verdict::stale_round) ++statistics_.stale_rounds;
  if (outcome.what == verdict::refused) ++statistics_.refused;
  if (outcome.what == verdict::malformed) return verdict::malformed;
  owe_ack(now, h.payload_bytes, outcome.out_of_order);
  return outcome.what;
}

void link::owe_ack(nanoseconds now, std::size_t packet_bytes, bool at_once) {
  ++owed_packets_;
  owed_bytes_ += charge_of(packet_bytes);
  if (packet_bytes >= payload_capacity_ - payload_capacity_ / 4) ++owed_full_packets_;
  const std::size_t window = std::min(options_.credit_bytes[0], options_.credit_bytes[1]);
  at_once = at_once || owed_full_packets_ >= (payload_capacity_ >= large_packet ? 4u : 2u) || owed_packets_ >= most_owed_packets ||
            owed_bytes_ >= window / 4;
  ack_at_ = std::min(ack_at_, at_once ? now : now + options_.ack_delay);
}

std::optional<bytes> link::front(weft::lane which) {
  receive_lane& lane = receivers_[index(which)];
  auto record = lane.front();
  if (!record && lane.broken() && ended_ == end_cause::none) ended_ = end_cause::peer_broken;
  return record;
}

void link::pop(weft::lane which) {
  receivers_[index(which)].pop();
  ++statistics_.records_in[index(which)];
}

void link::settle() {
  for (auto& lane : receivers_) lane.settle();
}

void link::discard(weft::lane which) {
  if (!receivers_[index(which)].discard()) return;
  ++statistics_.rounds_announced;
  announce_round_ = true;
}

// --- to the network ---------------------------------------------------------------------------------------------------------------

bool link::transmit(nanoseconds now, outgoing& out) {
  out.one_piece = {};
  clock_ = std::max(clock_, now);
  if (ended_ != end_cause::none) return false;
  run_timers(now);
  // These say what the header of a data packet cannot.
  if (announce_round_) {
    seal_control(now, datagram_kind::round, out);
    return true;
  }
  if (stranger_ != 0) {
    answer_stranger(out);
    return true;
  }
  if (answer_wanted_) {
    seal_control(now, datagram_kind::probe_answer, out);
    return true;
  }
  const bool bitmap_too_long = receivers_[0].beyond_sack() || receivers_[1].beyond_sack();
  if (ack_at_ <= now && bitmap_too_long) {
    seal_control(now, datagram_kind::ack, out);
    return true;
  }
  return transmit_data(now, index(lane::reply), out) || transmit_data(now, index(lane::request), out) || transmit_control(now, out);
}

void link::run_timers(nanoseconds now) {
  for (auto& sender : senders_) {
    if (!sender.expire(now, round_trip_)) continue;
    ++unanswered_;
    if (sender.starved())
      probe_wanted_ = true;
    else
      ++statistics_.timeouts;
  }
  if (probe_time() <= now) probe_wanted_ = true;
}

bool link::transmit_data(nanoseconds now, std::size_t l, outgoing& out) {
  send_lane::selection chosen;
  if (!senders_[l].select(now, round_trip_, chosen)) return false;
  send_lane::packet& p = *chosen.packet;
  header h = blank(datagram_kind::data);
  acknowledge(h);
  h.lane = static_cast<weft::lane>(l);
  h.sequence = chosen.sequence;
  h.round = senders_[l].round();
  h.packet_bytes = static_cast<std::uint16_t>(p.used);
  h.payload_bytes = static_cast<std::uint16_t>(chosen.size);
  h.piece = static_cast<std::uint8_t>(chosen.offset / piece_unit);
  out.payload = p.payload().subspan(chosen.offset, chosen.size);
  if (chosen.whole() && chosen.size > seal::short_payload) {
    if (!p.digested) p.digest = options_.sealer->finish(p.gathered, out.payload);
    p.digested = true;
    format(h, p.digest, *options_.sealer, out.header);
  } else {
    format(h, out.payload, *options_.sealer, out.header);
  }
  if (chosen.whole()) out.one_piece = p.with_header(out.header);
  if (!chosen.whole()) ++statistics_.pieces_out;
  if (chosen.tail_probe) ++statistics_.tail_probes;
  if (chosen.again)
    ++statistics_.retransmitted;
  else
    ++statistics_.packets_out;
  sent(now, out, true);
  return true;
}

bool link::transmit_control(nanoseconds now, outgoing& out) {
  if (probe_wanted_) {
    seal_control(now, datagram_kind::probe, out);
    return true;
  }
  if (ack_at_ > now && !credit_news()) return false;
  seal_control(now, datagram_kind::ack, out);
  return true;
}

bool link::credit_news() const {
  return receivers_[0].credit_news() || receivers_[1].credit_news();
}

header link::blank(datagram_kind kind) const {
  header h;
  h.group = options_.group;
  h.kind = kind;
  h.source = static_cast<std::uint16_t>(options_.self);
  h.destination = static_cast<std::uint16_t>(options_.peer);
  h.source_incarnation = options_.incarnation;
  h.destination_incarnation = peer_incarnation_;
  return h;
}

// Every datagram carries the acknowledgements of both lanes; afterwards none are owed.
void link::acknowledge(header& h) {
  for (std::size_t l = 0; l < lanes; ++l) h.acks[l] = receivers_[l].advertise();
  ack_at_ = never;
  owed_packets_ = owed_full_packets_ = owed_bytes_ = 0;
  announce_round_ = false;
}

void link::seal_control(nanoseconds now, datagram_kind kind, outgoing& out) {
  header h = blank(kind);
  acknowledge(h);
  if (kind == datagram_kind::probe_answer) answer_wanted_ = false;
  if (kind == datagram_kind::probe) {
    probe_wanted_ = false;
    last_probe_ = clock_;
    ++unanswered_;
    ++statistics_.probes_out;
  }
  if (kind == datagram_kind::ack) ++statistics_.acks_out;
  out.payload = extended_sack();
  h.payload_bytes = static_cast<std::uint16_t>(out.payload.size());
  format(h, out.payload, *options_.sealer, out.header);
  sent(now, out, kind == datagram_kind::probe);
}

// Somebody with the peer's number, but not the process that this link talks to: what that one sent is none of its business.
void link::answer_stranger(outgoing& out) {
  header h = blank(datagram_kind::probe_answer);
  h.destination_incarnation = stranger_;
  stranger_ = 0;
  out.payload = {};
  format(h, out.payload, *options_.sealer, out.header);
  sent(clock_, out, false);
}

bytes link::extended_sack() {
  std::byte* to = extension_.data();
  for (std::size_t l = 0; l < lanes; ++l) {
    if (!receivers_[l].beyond_sack()) continue;
    std::array<std::uint64_t, most_ahead / 64> words;
    const std::size_t used = receivers_[l].more_sack(words);
    const std::uint8_t head[4] = {static_cast<std::uint8_t>(l), static_cast<std::uint8_t>(used), 0, 0};
    std::memcpy(to, head, sizeof head);
    std::memcpy(to + sizeof head, words.data(), used * 8);
    to += sizeof head + used * 8;
  }
  return {extension_.data(), to};
}

void link::sent(nanoseconds now, const outgoing& out, bool expects_answer) {
  if (expects_answer && silent_since_ == never) silent_since_ = now;
  ++statistics_.datagrams_out;
  statistics_.bytes_out += header_bytes + out.payload.size();
}

void link::request_ack_now() {
  if (ack_at_ != never) ack_at_ = clock_;
}

// --- time and state ---------------------------------------------------------------------------------------------------------------

nanoseconds link::probe_time() const {
  return keep_probing_ ? std::max(last_heard_, last_probe_) + options_.probe_interval : never;
}

nanoseconds link::deadline() const {
  if (ended_ != end_cause::none) return never;
  if (announce_round_ || answer_wanted_ || stranger_ != 0 || probe_wanted_ || credit_news()) return clock_;
  nanoseconds first = std::min(ack_at_, probe_time());
  for (const auto& sender : senders_) first = sender.ready() ? clock_ : std::min(first, sender.deadline());
  return first;
}

bool link::idle() const {
  return senders_[0].all_acknowledged() && senders_[1].all_acknowledged() && ack_at_ == never && !announce_round_ &&
         !answer_wanted_;
}

end_cause link::why(nanoseconds now) const {
  if (ended_ != end_cause::none) return ended_;
  const bool silent =
      silent_since_ != never && now - silent_since_ >= options_.dead_after && unanswered_ >= questions_before_silence;
  return silent ? end_cause::silent : end_cause::none;
}

void link::keep_probing(bool on) {
  if (on && !keep_probing_) last_probe_ = std::max(last_probe_, clock_);
  keep_probing_ = on;
}

void link::change_datagram_bytes(std::size_t datagram_bytes) {
  options_.datagram_bytes = std::clamp(datagram_bytes, least_datagram_bytes, most_datagram_bytes);
  payload_capacity_ = options_.datagram_bytes - header_bytes;
  for (auto& sender : senders_) sender.change_payload_capacity(payload_capacity_);
}

}  // namespace weft::reliable
