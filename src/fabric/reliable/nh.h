// NH, the universal hash of UMAC: compresses a block of up to 4 KiB to 128 bits at memory speed.
//
//   NH_k(m) = sum over even i of (m[i] + k[i] mod 2^32) * (m[i+1] + k[i+1] mod 2^32), mod 2^64
//
// over 32-bit words; two passes, the second with the key shifted by four words (the Toeplitz construction), give two 64-bit results.
// Two different blocks of one padded length collide with probability at most 2^-64 over the choice of the key. NH is not a MAC: its
// result must go through a keyed function before anybody sees it. That is what seal does.
//
// The same result on every processor; on x86-64 the widest vectors that the processor has are used.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <weft/port.h>

namespace weft::fabric::reliable {

inline constexpr std::size_t nh_block_bytes = 4096;
inline constexpr std::size_t nh_shift_words = 4;

// The words of both passes; the second pass's are kept apart, so that vectors of them are aligned too.
struct nh_key {
  static constexpr std::size_t block_words = nh_block_bytes / 4;
  static constexpr std::size_t material_words = block_words + nh_shift_words;

  void set(std::span<const std::uint32_t, material_words> material);

  alignas(64) std::array<std::uint32_t, block_words> first;
  alignas(64) std::array<std::uint32_t, block_words> second;
};

using nh_digest = std::array<std::uint64_t, 2>;

// `block` has at most nh_block_bytes; it is padded with zeros to a whole number of 64-byte strides, so the caller must account
// for its true length elsewhere.
nh_digest nh(const nh_key& key, bytes block);

// The definition, without vectors: the same result, slowly.
nh_digest nh_plain(const nh_key& key, bytes block);

}  // namespace weft::fabric::reliable
