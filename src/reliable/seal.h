// The keyed tag on every datagram: whoever does not hold the job's 128-bit key can neither make a datagram that this job accepts nor
// change one.
//
// A conventional MAC over the whole payload would cost more than moving it, so this is Carter and Wegman's construction as in UMAC
// (Black, Halevi, Krawczyk, Krovetz and Rogaway 1999): a long payload is first compressed by CLNH, a universal hash that runs at
// memory speed, and only its digests go through SipHash-2-4. docs/wire-format.md gives the construction byte by byte and its bound.
//
//   payload of at most `short_payload` bytes:  tag = SipHash(header || payload)
//   longer:                                    tag = SipHash(header || digest(payload))
//
// The header that is hashed contains the payload's length, which separates the two cases. The digest does not depend on the header:
// a sender that buffers a packet keeps its digest and pays for the payload once, however often the packet is sent again.
//
// Immutable after construction; any thread may use it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <weft/port.h>

#include "reliable/clnh.h"

namespace weft::reliable {

class seal {
 public:
  static constexpr std::size_t key_bytes = 16;
  static constexpr std::size_t short_payload = 256;
  static constexpr std::size_t most_header = 128;
  static constexpr std::size_t most_payload = std::size_t{1} << 16;

  using key = std::array<std::byte, key_bytes>;

  // What a long payload contributes to the tag.
  using digest = std::array<std::byte, 16>;

  explicit seal(const key& job_key);

  // The tag of a datagram. `header` is everything before the payload except the tag itself, at most most_header bytes.
  std::uint64_t tag(bytes header, bytes payload) const;

  // The same in two steps, for payloads longer than short_payload: tag(h, p) == tag(h, digest_of(p)).
  digest digest_of(bytes payload) const;

  // The digest of a payload that is put together piece by piece and hashed on the way, while it is in the cache. copy() puts `more` behind
  // the `used` bytes that are there. finish(g, p) == digest_of(p), once.
  static constexpr std::size_t block_bytes = clnh_block_bytes;
  static constexpr std::size_t most_blocks = most_payload / block_bytes;
  struct gathering {
    std::uint32_t hashed = 0;                     // bytes from the start on, whole strides
    std::array<clnh_digest, most_blocks> blocks;  // of what is hashed
  };
  void copy(gathering& g, std::byte* payload, std::size_t used, bytes more) const;
  digest finish(gathering& g, bytes payload) const;
  std::uint64_t tag(bytes header, const digest& payload) const;

  // Of a datagram as it arrived, header and payload in one piece and the tag cut off; in constant time with respect to the tag.
  bool verify(std::uint64_t claimed, bytes header_and_payload, std::size_t header_bytes) const;

 private:
  static constexpr std::size_t siphash_key_bytes = 16;

  // Hashes the whole strides up to `end`.
  void catch_up(gathering& g, const std::byte* payload, std::size_t end) const;
  // Hashes what comes next, whole strides, and copies it if that is asked for.
  template <typename Add>
  static void by_blocks(gathering& g, std::size_t size, Add&& add);

  clnh_key hash_key_;
  std::array<std::byte, siphash_key_bytes> tag_key_;
  std::array<std::byte, siphash_key_bytes> digest_key_;
};

}  // namespace weft::reliable
