// A link: the connection to one peer. It makes an unreliable datagram path deliver records whole, exactly once and in order within
// each lane: FUNi's acknowledge/retry protocol with sender buffering (StarT-JR section 3.2), as selective repeat.
//
// A pure state machine: bytes and time go in, bytes and deadlines come out. It owns no socket, no thread and no clock; `now` must
// not run backwards. Not thread-safe: the caller locks.
//
// How it is driven, by whoever holds the lock:
//
//   for each datagram that arrived:  receive(now, datagram); while (front(lane)) { use it; pop(lane); }  settle();
//   while (transmit(now, out)) send header and payload as one datagram;
//   come back at deadline(), or when something arrives or is pushed.
//
// Arrivals are to be processed before transmit() at the same moment: otherwise a caller that was held up retries what has long
// been acknowledged.
//
// What holds:
//  - A record that was accepted by push() is delivered exactly once while the link lives, whatever the network loses, repeats,
//    reorders, delays or damages. Nothing is delivered that was not pushed, short of a forged tag.
//  - The lanes share nothing but the datagrams' headers: each has its own window, its own buffers and its own credit, and reply
//    packets go first. A receiver that takes no requests refuses them while replies flow.
//  - Memory is bounded by the four buffer sizes in the options, one record under assembly a lane, and bookkeeping proportional to
//    them. It is allocated when first needed and then recycled.
//  - A receiver that gives up what it holds out of order (discard(), or pressure) starts a new round: the peer sends again whatever
//    is unacknowledged. Packets that were acknowledged for good are never given up.
//  - A peer that restarted has lost its half of the state; the link ends with end_cause::peer_restarted rather than guess.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

#include <weft/port.h>

#include "base/clock.h"
#include "reliable/receive_lane.h"
#include "reliable/round_trip.h"
#include "reliable/seal.h"
#include "reliable/send_lane.h"
#include "reliable/wire.h"

namespace weft::reliable {

using base::nanoseconds;
inline constexpr nanoseconds never = std::numeric_limits<nanoseconds>::max();

struct link_options {
  node_id self = 0;
  node_id peer = 0;
  std::uint64_t group = 0;
  const seal* sealer = nullptr;  // must outlive the link

  // Tells this process from an earlier one with the same node number. 0 has the link draw a random one; deterministic tests choose.
  std::uint32_t incarnation = 0;

  // Whole UDP payload, header included; between least_datagram_bytes and most_datagram_bytes.
  std::size_t datagram_bytes = most_datagram_bytes;

  // Bounded windows, by lane. At least least_buffer_bytes each; less is rounded up.
  std::size_t send_buffer_bytes[lanes] = {std::size_t{2} << 20, std::size_t{2} << 20};
  std::size_t receive_buffer_bytes[lanes] = {std::size_t{2} << 20, std::size_t{2} << 20};

  // How much the peer may send ahead of consumption; 0 means as much as the receive buffer holds. Less makes sense where the socket
  // in front of the link holds less; at least first_credit. More is overcommitment: it works, because what does not fit is refused
  // or given up and sent again, but it costs repeats.
  std::size_t credit_bytes[lanes] = {0, 0};

  nanoseconds ack_delay = 200 * base::microsecond;  // the longest that an acknowledgement waits for data to ride on
  nanoseconds min_retry = 2 * base::millisecond;    // bounds of the retry timer
  nanoseconds max_retry = 200 * base::millisecond;  // at most a quarter of dead_after, so that silence is never one lost packet
  nanoseconds dead_after = 5 * base::second;
  nanoseconds probe_interval = 500 * base::millisecond;
};

inline constexpr std::size_t least_buffer_bytes = std::size_t{256} << 10;

enum class end_cause : std::uint8_t {
  none,
  silent,          // no sign of life for dead_after although something was asked of the peer
  peer_restarted,  // the peer's process is a new one, or has lost its state: it cannot know what was delivered
  peer_broken,     // valid tags on what no correct peer sends
};
const char* to_string(end_cause cause) noexcept;

struct link_statistics {
  std::uint64_t datagrams_in = 0, datagrams_out = 0;  // in: valid ones only
  std::uint64_t bytes_in = 0, bytes_out = 0;          // whole datagrams
  std::uint64_t records_in[lanes] = {}, records_out[lanes] = {};
  std::uint64_t packets_out = 0;    // data sent for the first time
  std::uint64_t retransmitted = 0;  // data sent again, for whatever reason:
  std::uint64_t timeouts = 0;       //   times that the retry timer expired
  std::uint64_t losses_seen = 0;    //   packets found lost from later acknowledgements
  std::uint64_t tail_probes = 0;    //   last packets sent again early
  std::uint64_t pieces_out = 0;     // datagrams that carried part of a packet
  std::uint64_t acks_out = 0, probes_out = 0;
  std::uint64_t duplicates = 0, stale_rounds = 0, refused = 0;
  std::uint64_t rounds_announced = 0, rounds_followed = 0;
  std::uint64_t rejected[verdicts] = {};  // by verdict

  std::uint64_t all_rejected() const {
    std::uint64_t sum = 0;
    for (auto count : rejected) sum += count;
    return sum;
  }
};

class link {
 public:
  // A message of most_payload bytes and what goes before it.
  static constexpr std::size_t most_record = reliable::most_record;

  explicit link(const link_options& options);
  link(const link&) = delete;
  link& operator=(const link&) = delete;

  // --- from above -----------------------------------------------------------------------------------------------------------------

  // Whether push would be accepted now.
  bool room(weft::lane which, std::size_t record_bytes) const;

  // Record bytes that still fit the packet being filled, or a fresh packet if none is: a record that fits is delivered without a
  // copy at the other end, a longer one is taken apart and assembled again.
  std::size_t room_in_packet(weft::lane which) const;

  // Where in its packet a record of so many bytes would begin if it were pushed now: for who wants its parts aligned.
  std::size_t record_offset(weft::lane which, std::size_t record_bytes) const;

  // Copies head||body as one record, at most most_record bytes. Only after room().
  void push(weft::lane which, bytes head, bytes body = {});

  // In a stream, a short packet is held back until it is filled or what is ahead of it has been acknowledged. hurry() is for a caller
  // that knows that nothing will follow soon: what is held back goes with the next transmit().
  void hurry();
  bool holds_back() const { return senders_[0].holds_back() || senders_[1].holds_back(); }

  // --- from the network -----------------------------------------------------------------------------------------------------------

  // Validates a datagram, takes its acknowledgements and its payload. The memory of a datagram must stay as it is until settle() or
  // the next receive() has returned: a packet that is next in order is used where it lies.
  verdict receive(nanoseconds now, bytes datagram);

  // The next whole record, or nothing. The view is valid until pop(), settle() or receive(); asking again gives it anew.
  std::optional<bytes> front(weft::lane which);

  // Ends the record that front() gave.
  void pop(weft::lane which);

  // Copies whatever is not yet consumed of the last datagram: its memory is about to be reused.
  void settle();

  // Gives up everything that arrived out of order on a lane and announces a new round. For a caller that bounds the memory of all
  // its links together.
  void discard(weft::lane which);

  // --- to the network -------------------------------------------------------------------------------------------------------------

  struct outgoing {
    header_buffer header;
    bytes payload;    // valid until the next call on the link, as is
    bytes one_piece;  // header and payload, if they lie together
  };

  // The next datagram to send now, if there is one: round announcements, then the reply lane, then the request lane (what was lost
  // before what is new), acknowledgements that are due, probes.
  bool transmit(nanoseconds now, outgoing& out);

  // When transmit() has something to say even if nothing happens; `never` if it does not. In the past if it has now.
  nanoseconds deadline() const;

  // The caller knows that no data will follow for acknowledgements to ride on.
  void request_ack_now();

  // --- state ----------------------------------------------------------------------------------------------------------------------

  // Everything pushed has been acknowledged, and no acknowledgement is owed.
  bool idle() const;

  // Whether the link has ended, and why. Silence ends with the next sign of life; the other causes are final.
  bool dead(nanoseconds now) const { return why(now) != end_cause::none; }
  end_cause why(nanoseconds now) const;

  // Probes an idle peer every probe_interval, so that a host that was cut off is noticed.
  void keep_probing(bool on);

  // The path's MTU changed. Packets that are already packed and now too large are sent in pieces.
  void change_datagram_bytes(std::size_t datagram_bytes);

  const link_statistics& statistics() const { return statistics_; }
  std::uint32_t incarnation() const { return options_.incarnation; }

  // Bytes that the lane holds in buffers now; never more than the options say.
  std::size_t send_bytes_held(weft::lane which) const { return senders_[index(which)].bytes_held(); }
  std::size_t receive_bytes_held(weft::lane which) const { return receivers_[index(which)].bytes_held(); }
  nanoseconds smoothed_round_trip() const { return round_trip_.smoothed(); }

 private:
  static constexpr std::size_t index(weft::lane which) { return static_cast<std::size_t>(which); }

  static link_options sane(link_options options);

  // receive(), step by step.
  verdict check_incarnation(const header& h);
  verdict take_acks(nanoseconds now, const header& h, bytes extension);
  verdict take_data(nanoseconds now, const header& h, bytes payload);
  void owe_ack(nanoseconds now, std::size_t packet_bytes, bool at_once);
  void heard();

  // transmit(), step by step.
  bool transmit_data(nanoseconds now, std::size_t l, outgoing& out);
  bool transmit_control(nanoseconds now, outgoing& out);
  void run_timers(nanoseconds now);
  header blank(datagram_kind kind) const;
  void acknowledge(header& h);
  void answer_stranger(outgoing& out);
  void seal_control(nanoseconds now, datagram_kind kind, outgoing& out);
  bytes extended_sack();
  void sent(nanoseconds now, const outgoing& out, bool expects_answer);
  nanoseconds probe_time() const;
  bool credit_news() const;

  link_options options_;
  addressing addressing_;
  std::size_t payload_capacity_;

  std::array<send_lane, lanes> senders_;
  std::array<receive_lane, lanes> receivers_;
  round_trip round_trip_;

  std::uint32_t peer_incarnation_ = 0;
  end_cause ended_ = end_cause::none;

  // Acknowledgements owed since the last datagram that carried them.
  nanoseconds ack_at_ = never;
  std::size_t owed_packets_ = 0, owed_full_packets_ = 0, owed_bytes_ = 0;
  bool announce_round_ = false;

  // Probing, and the peer's silence.
  bool keep_probing_ = false;
  bool probe_wanted_ = false;
  bool answer_wanted_ = false;
  std::uint32_t stranger_ = 0;  // incarnation that has to be told who is here now
  nanoseconds clock_ = 0;       // the latest `now`
  nanoseconds last_heard_ = 0;
  nanoseconds last_probe_ = 0;
  nanoseconds silent_since_ = never;  // when the oldest unanswered question was sent
  unsigned unanswered_ = 0;           // retries and probes since the last sign of life

  std::array<std::byte, 2 * (4 + most_ahead / 8)> extension_;
  link_statistics statistics_;
};

}  // namespace weft::reliable
