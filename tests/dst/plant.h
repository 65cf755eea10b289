// Bugs that can be planted in the simulated surroundings, to see the harness fail: a check that has never failed proves nothing.
// None of them touches the code under test.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace dst {

enum class plant : std::uint8_t {
  none,
  resealed_damage,  // the network damages a payload and makes the tag right again: wrong bytes must be noticed
  invented_ack,     // the network acknowledges one packet too many: a missing record must be noticed
  black_hole,       // one packet never gets through, faults or not: no progress must be noticed
  blocked_replies,  // replies wait while requests are refused: the coupling of the lanes must be noticed
  early_reuse,      // a datagram's memory is reused before settle(): a dangling view must be noticed
  repeated_record,  // the consumer is shown a record twice
};

inline std::optional<plant> plant_named(std::string_view name) {
  constexpr std::string_view names[] = {"none",        "resealed_damage", "invented_ack", "black_hole", "blocked_replies",
                                        "early_reuse", "repeated_record"};
  for (std::uint8_t i = 0; i < std::size(names); ++i)
    if (names[i] == name) return static_cast<plant>(i);
  return std::nullopt;
}

}  // namespace dst
