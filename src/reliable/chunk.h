// How records lie in packets. A packet's payload is a row of chunks, each a 4-byte head and its bytes; a record is one chunk, or, when
// it does not fit a packet, several in a row. A chunk never crosses packets, so a record of one chunk is used where it lies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/bytes.h"

namespace weft::reliable {

inline constexpr std::size_t chunk_head_bytes = 4;

// A message of 64 KiB and what goes before it.
inline constexpr std::size_t most_record = (std::size_t{64} << 10) + (std::size_t{4} << 10);

struct chunk {
  bool first = false;  // of its record
  bool last = false;
  std::size_t size = 0;
};

inline void store_chunk_head(std::byte* to, const chunk& c) {
  base::store(to, static_cast<std::uint32_t>(c.size) | (c.first ? 1u << 30 : 0u) | (c.last ? 1u << 31 : 0u));
}

// The chunk at the start of `rest`, or nothing if there is none that could be.
inline std::optional<chunk> load_chunk(base::byte_view rest) {
  if (rest.size() < chunk_head_bytes) return std::nullopt;
  const auto head = base::load<std::uint32_t>(rest.data());
  const chunk c{(head >> 30 & 1) != 0, (head >> 31) != 0, head & 0x3fff'ffffu};
  if (c.size > rest.size() - chunk_head_bytes) return std::nullopt;
  return c;
}

}  // namespace weft::reliable
