// CLNH, a universal hash of carry-less products: compresses a block of up to 4 KiB to 128 bits at memory speed.
//
//   CLNH_k(m) = xor over even i of (m[i] ^ k[i]) * (m[i+1] ^ k[i+1])
//
// over 64-bit words, the products being those of polynomials over GF(2) (Lemire and Kaser, "Faster 64-bit universal hashing using
// carry-less multiplications", 2015; NH is UMAC's, with integers). Two different blocks of one padded length collide with probability
// at most 2^-64 over the choice of the key. It is not a MAC: the result must go through a keyed function before anybody sees it. That
// is what seal does.
//
// The same result on every processor, in whatever way; the fastest is used.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <weft/port.h>

namespace weft::reliable {

inline constexpr std::size_t clnh_block_bytes = 4096, clnh_stride_bytes = 64;

struct clnh_key {
  alignas(64) std::array<std::uint64_t, clnh_block_bytes / 8> words;
};

using clnh_digest = std::array<std::uint64_t, 2>;  // the low half of the polynomial, the high half

// A block's digest in parts, from zeros: adds whole strides, which begin `at` bytes into the block. And the same while they are copied,
// so that each byte is loaded once for both: it is the copy's digest even if somebody writes to `strides` meanwhile. A block that is no
// whole number of strides the caller pads with zeros, and accounts for its true length elsewhere.
void clnh_add(const clnh_key& key, std::size_t at, bytes strides, clnh_digest& into);
void clnh_copy(const clnh_key& key, std::size_t at, std::byte* to, bytes strides, clnh_digest& into);

// A way to add `strides` strides of `message` to `into`, with the key from word `at` on, and to copy them to `to` if that is not null.
struct clnh_way {
  const char* name;
  void (*add)(const clnh_key& key, std::size_t at, std::byte* to, const std::byte* message, std::size_t strides, clnh_digest& into);
};
std::span<const clnh_way> clnh_ways();  // that this processor has, the fastest first: one or more

// The definition, without help from the processor, and with the zeros added here: the same result, slowly.
clnh_digest clnh_plain(const clnh_key& key, bytes block);

}  // namespace weft::reliable
