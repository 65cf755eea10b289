// The receiving half of a lane: accepts packets in any order, each once, gives out records in order, and says what it has and how much
// more it takes. Part of a link; not thread-safe.
//
// Packet numbers:   [reading .. next)  accepted for good, not consumed    [next .. end)  some accepted out of order, in this round only
//
// A packet that arrives in order is used where it lies in the caller's memory ("borrowed") until settle() copies what is left of it;
// the room for that copy is set aside when it is accepted.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <weft/port.h>

#include "reliable/buffer_pool.h"
#include "reliable/chunk.h"
#include "reliable/sequence_ring.h"
#include "reliable/wire.h"

namespace weft::reliable {

class receive_lane {
 public:
  receive_lane(std::size_t buffer_bytes, std::size_t credit_bytes);

  struct outcome {
    verdict what = verdict::refused;
    bool out_of_order = false;  // leaves, left or filled a gap: the sender wants to know at once
  };
  outcome accept(const header& h, bytes payload);

  std::optional<bytes> front();
  void pop();
  void settle();

  // Gives up what was accepted out of order; whether there was anything. Starts a new round.
  bool discard();

  // What acknowledgements say. advertise() is what goes out; it remembers what the peer has been told.
  lane_ack advertise();
  bool credit_news() const { return credit_now() - told_credit_ >= credit_bytes_ / 4; }

  // Whether `sack` has no room for all that was accepted out of order, and the words that continue it.
  bool beyond_sack() const { return packets_.end() > next_ + 1 + 64; }
  std::size_t more_sack(std::array<std::uint64_t, most_ahead / 64>& words) const;

  bool broken() const { return broken_; }  // the records make no sense: the sender is not a correct one
  bool gap() const { return packets_.end() != next_; }
  std::size_t bytes_held() const { return held_; }
  std::uint32_t round() const { return round_; }
  std::uint64_t rounds_started() const { return rounds_started_; }

 private:
  struct packet {
    enum class state : std::uint8_t { missing, partial, borrowed, stored };

    bytes payload;  // all of it when borrowed or stored
    packet_buffer storage;
    std::uint32_t charge = 0;
    std::uint32_t size = 0;  // of the packet, once a piece is here
    state now = state::missing;
    std::unique_ptr<std::array<std::uint64_t, 2>> pieces;  // one bit a unit that is still missing

    bool complete() const { return now == state::borrowed || now == state::stored; }
  };

  std::uint32_t credit_now() const { return consumed_ + credit_bytes_; }
  bool fits(std::size_t charge) const { return held_ + charge <= buffer_bytes_; }
  bool make_room(std::uint64_t sequence, std::size_t charge);
  packet& at(std::uint64_t sequence);
  outcome accept_whole(std::uint64_t sequence, bytes payload);
  outcome accept_piece(const header& h, bytes payload);
  void advance();
  void drop(packet& p);
  void consume_packet();
  bool take_chunk();

  std::size_t buffer_bytes_;
  std::uint32_t credit_bytes_;
  std::size_t reserve_;  // kept free for packets in order, if more credit is given than there is room
  buffer_pool pool_;
  sequence_ring<packet> packets_;  // from the one being read
  std::uint64_t next_ = 0;
  std::size_t held_ = 0;            // sum of charges
  std::size_t refused_charge_ = 0;  // of the next packet in order, if it has been refused

  std::uint32_t consumed_ = 0;  // sum of the charges of all packets consumed, modulo 2^32
  std::uint32_t told_credit_ = 0;

  std::uint32_t round_ = 0;
  std::uint64_t rounds_started_ = 0;

  // Reading.
  std::size_t offset_ = 0;  // in the packet being read
  bool ready_ = false;      // record_ has been given out
  bool assembled_ = false;  // record_ lies in assembly_
  bool assembling_ = false;
  bool broken_ = false;
  bytes record_;
  std::vector<std::byte> assembly_;

  bool borrowed_ = false;
  std::uint64_t borrowed_sequence_ = 0;
};

}  // namespace weft::reliable
