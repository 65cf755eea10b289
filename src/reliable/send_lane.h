// The sending half of a lane: packs records into packets, buffers every packet until it is acknowledged for good, and decides which
// one goes next. Part of a link; not thread-safe.
//
// A packet's number and content never change once it has been sent, however often and in whatever pieces it is sent again: that is
// what makes repeats and rounds harmless.
//
// Packets are numbered 0, 1, 2, ...:   [oldest .. next)  sent and not acknowledged    [next .. end)  packed, not sent yet
// The last of them is `open` while records may still be added to it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include <weft/port.h>

#include "base/clock.h"
#include "reliable/buffer_pool.h"
#include "reliable/chunk.h"
#include "reliable/round_trip.h"
#include "reliable/seal.h"
#include "reliable/sequence_ring.h"
#include "reliable/wire.h"

namespace weft::reliable {

class send_lane {
 public:
  using nanoseconds = base::nanoseconds;
  static constexpr nanoseconds never = std::numeric_limits<nanoseconds>::max();

  struct packet {
    enum class state : std::uint8_t { packed, under_way, accepted, lost };

    packet_buffer storage;
    std::uint32_t used = 0;    // payload bytes
    std::uint32_t charge = 0;  // fixed when first sent
    nanoseconds sent_at = 0;
    std::uint64_t transmission = 0;  // number of the last one, counted over the lane
    std::uint32_t times_sent = 0;
    state now = state::packed;
    bool overtaken = false;  // sent again because later ones were accepted: an earlier copy may yet arrive
    bool digested = false;
    seal::digest digest;       // of the whole payload, computed once
    seal::gathering gathered;  // towards it

    bytes payload() const { return {storage.data.get(), used}; }
    bytes with_header(const header_buffer& header) {
      static_assert(header_bytes <= header_room);
      std::byte* const first = storage.data.get() - header_bytes;
      std::memcpy(first, header.data(), header_bytes);
      return {first, header_bytes + used};
    }
  };

  // A datagram to be made: the packet, and which part of it.
  struct selection {
    std::uint64_t sequence = 0;
    send_lane::packet* packet = nullptr;
    std::size_t offset = 0, size = 0;
    bool again = false;  // the packet had been sent before
    bool tail_probe = false;
    bool whole() const { return size == packet->used; }
  };

  // What an acknowledgement brought.
  struct ack_outcome {
    bool impossible = false;  // it acknowledges what was never sent
    bool new_round = false;
    std::uint64_t losses_seen = 0;
  };

  send_lane(const seal& sealer, std::size_t buffer_bytes, std::size_t payload_capacity, nanoseconds ack_delay);

  bool room(std::size_t record_bytes) const;
  std::size_t room_in_packet() const;
  std::size_t record_offset(std::size_t record_bytes) const;
  void push(bytes head, bytes body);

  // Nothing will follow soon: a packet that waits to be filled goes as it is. And whether there is one.
  void hurry() { hurried_ = true; }
  bool holds_back() const { return next_ != packets_.end() && better_filled(packets_[next_]); }

  // `more` continues ack.sack by whole words of 64 bits.
  ack_outcome acknowledge(nanoseconds now, const lane_ack& ack, bytes more, round_trip& path);

  // Expires the retry timer if it is due; whether it did.
  bool expire(nanoseconds now, const round_trip& path);

  // The next datagram of this lane to send now, if any. The caller sends it: there is no way back.
  bool select(nanoseconds now, const round_trip& path, selection& chosen);

  nanoseconds deadline() const;

  // Something to send, but no credit and nothing under way whose acknowledgement would bring some: only a probe helps.
  bool starved() const { return oldest() == next_ && next_ != packets_.end() && !credit_for(packets_[next_]); }

  bool all_acknowledged() const { return packets_.empty(); }

  // Whether select() certainly has something; it may have even if this says no.
  bool ready() const;

  std::uint32_t round() const { return round_; }
  std::size_t bytes_held() const { return pool_.bytes_out(); }

  void change_payload_capacity(std::size_t payload_capacity);

 private:
  std::uint64_t oldest() const { return packets_.begin(); }
  std::size_t fresh_capacity() const { return payload_capacity_ - chunk_head_bytes; }

  // Packing.
  bool joins_open(std::size_t record_bytes) const {
    return open_ && packets_[packets_.end() - 1].used + chunk_head_bytes + record_bytes <= payload_capacity_;
  }
  std::size_t memory_for(std::size_t record_bytes) const;
  std::size_t grown(std::size_t needed) const { return std::min(payload_capacity_, 2 * needed); }
  std::size_t opening_size(std::size_t needed) const;
  packet& open_packet(std::size_t needed);
  void reserve_in_open(std::size_t needed);
  void append(packet& into, const chunk& head, bytes& first, bytes& second);
  void copy_in(packet& into, bytes from);

  // Acknowledgement.
  struct news {
    bool progress = false;
    nanoseconds measured = -1;
    std::uint64_t measured_transmission = 0;
  };
  void count_acknowledged(nanoseconds now, packet& p, const round_trip& path, news& n);
  void take_sack_word(nanoseconds now, std::uint64_t first, std::uint64_t word, const round_trip& path, news& n);
  void follow_round(std::uint32_t round);
  std::uint64_t find_losses(const round_trip& path);
  void lose(packet& p);
  void judge_window();
  std::size_t least_window() const { return 2 * charge_of(payload_capacity_); }
  void rearm(nanoseconds now, const round_trip& path);

  // Selection.
  bool credit_for(const packet& p) const;
  bool window_for(std::size_t charge) const { return bytes_under_way_ == 0 || bytes_under_way_ + charge <= window_; }
  bool select_piece(selection& chosen);
  bool select_lost(selection& chosen);
  bool better_filled(const packet& p) const;
  bool may_start_new() const;
  bool select_new(selection& chosen);
  bool select_tail(nanoseconds now, selection& chosen);
  void start(nanoseconds now, const round_trip& path, selection& chosen);
  nanoseconds tail_time(nanoseconds now, const round_trip& path) const;

  const seal* sealer_;
  std::size_t buffer_bytes_;
  std::size_t payload_capacity_;
  nanoseconds ack_delay_;  // the peer's, presumably: how long an answer may take beyond the round trip
  buffer_pool pool_;
  sequence_ring<packet> packets_;
  std::uint64_t next_ = 0;
  bool open_ = false;
  bool hurried_ = false;  // the open packet is not to wait for more

  // Flow control, in charges; both run modulo 2^32.
  std::uint32_t charged_ = 0;
  std::uint32_t credit_ = first_credit;

  // Congestion. Datagrams are also lost at random, so only a retry timeout or the loss of a good part of a window shrinks it.
  std::size_t window_;
  std::size_t bytes_under_way_ = 0;
  std::size_t judged_accepted_ = 0, judged_lost_ = 0;  // since the window last changed

  std::uint32_t round_ = 0;

  // Loss, judged by the order of transmissions.
  std::uint64_t transmissions_ = 0;
  std::uint64_t latest_accepted_ = 0;  // transmission number
  nanoseconds latest_accepted_sent_at_ = 0;
  std::size_t lost_ = 0;
  std::uint64_t lost_hint_ = 0;  // no lost packet before this one

  // A packet being sent in pieces.
  std::uint64_t piece_of_ = 0;
  std::size_t piece_offset_ = 0;  // 0: none

  // Timers.
  nanoseconds retry_at_ = never;
  nanoseconds tail_at_ = never;
  bool tail_sent_ = false;
  unsigned expired_ = 0;
};

}  // namespace weft::reliable
