// What the simulated nodes send each other: the k-th record of a (source, destination, lane) follows from the seed alone, so a
// receiver checks every byte without keeping anything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include <weft/port.h>

#include "base/random.h"
#include "reliable/link.h"

namespace dst {

class record_stream {
 public:
  record_stream() = default;
  record_stream(std::uint64_t seed, weft::node_id from, weft::node_id to, weft::lane which, std::size_t datagram_bytes)
      : seed_(seed * 0x9e3779b97f4a7c15u ^
              (std::uint64_t{from} << 40 | std::uint64_t{to} << 20 | static_cast<std::uint64_t>(which))),
        datagram_bytes_(datagram_bytes) {}

  // The record with this number. The view is valid until the next call.
  weft::bytes record(std::uint64_t number) {
    weft::base::random random(seed_ + number * 0xd1342543de82ef95u);
    const std::size_t size = size_of(random);
    words_.resize(size / 8 + 1);
    const std::uint64_t start = random.next();
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] = start + i * 0x9e3779b97f4a7c15u;
    return std::as_bytes(std::span(words_)).first(size);
  }

  bool is(std::uint64_t number, weft::bytes candidate) {
    const auto expected = record(number);
    return expected.size() == candidate.size() &&
           (expected.empty() || std::memcmp(expected.data(), candidate.data(), expected.size()) == 0);
  }

 private:
  // Empty, tiny, at the edges of a packet, the largest possible, and what lies between.
  std::size_t size_of(weft::base::random& random) const {
    using weft::reliable::link;
    const std::size_t capacity = datagram_bytes_ - weft::reliable::header_bytes - weft::reliable::chunk_head_bytes;
    switch (random.below(32)) {
      case 0:
      case 1:
      case 2: return 0;
      case 3:
      case 4:
      case 5:
      case 6: return random.between(capacity - 6, std::min(capacity + 6, link::most_record));
      case 7: return random.below(8192);
      case 8: return random.chance(0.3) ? link::most_record - random.below(2) : random.below(4096);
      case 9:
      case 10:
      case 11:
      case 12:
      case 13:
      case 14: return random.between(65, 1024);
      default: return random.between(1, 64);
    }
  }

  std::uint64_t seed_ = 0;
  std::size_t datagram_bytes_ = 1472;
  std::vector<std::uint64_t> words_;
};

}  // namespace dst
