#include "fabric/reliable/clnh.h"

#include <cassert>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace weft::fabric::reliable {

namespace {

constexpr std::size_t stride_words = 8;
constexpr std::size_t stride_bytes = stride_words * 8;

// Adds `strides` strides of `message` to `into`, with the key from word `at` on.
using strides_function = void (*)(const clnh_key& key, std::size_t at, const std::byte* message, std::size_t strides,
                                  clnh_digest& into);

// Carry-less product, four bits of `b` at a time.
clnh_digest product(std::uint64_t a, std::uint64_t b) {
  clnh_digest table[16] = {};
  for (unsigned n = 1; n < 16; ++n)
    for (unsigned bit = 0; bit < 4; ++bit)
      if (n >> bit & 1) {
        table[n][0] ^= a << bit;
        if (bit > 0) table[n][1] ^= a >> (64 - bit);
      }
  clnh_digest sum{};
  for (int shift = 60; shift >= 0; shift -= 4) {
    sum[1] = sum[1] << 4 | sum[0] >> 60;
    sum[0] <<= 4;
    const auto& part = table[b >> shift & 15];
    sum[0] ^= part[0];
    sum[1] ^= part[1];
  }
  return sum;
}

void plain_strides(const clnh_key& key, std::size_t at, const std::byte* message, std::size_t strides, clnh_digest& into) {
  for (std::size_t s = 0; s < strides; ++s, at += stride_words, message += stride_bytes) {
    std::uint64_t m[stride_words];
    std::memcpy(m, message, sizeof m);
    for (std::size_t i = 0; i < stride_words; i += 2) {
      const auto p = product(m[i] ^ key.words[at + i], m[i + 1] ^ key.words[at + i + 1]);
      into[0] ^= p[0];
      into[1] ^= p[1];
    }
  }
}

#if defined(__x86_64__)

// Adds all products in an array of vector registers.
template <typename V, std::size_t n>
void xor_all(const V (&sums)[n], clnh_digest& into) {
  clnh_digest parts[n * (sizeof(V) / sizeof(clnh_digest))];
  std::memcpy(parts, sums, sizeof parts);
  for (const auto& part : parts) into[0] ^= part[0], into[1] ^= part[1];
}

// 0x10: the low word of the first operand times the high word of the second, in each pair.
[[gnu::target("pclmul,sse2")]] void pclmul_strides(const clnh_key& key, std::size_t at, const std::byte* message,
                                                   std::size_t strides, clnh_digest& into) {
  __m128i sums[4] = {};
  for (std::size_t s = 0; s < strides; ++s, at += stride_words, message += stride_bytes)
    for (std::size_t i = 0; i < 4; ++i) {
      const __m128i m = _mm_loadu_si128(reinterpret_cast<const __m128i*>(message) + i);
      const __m128i keyed = _mm_xor_si128(m, _mm_load_si128(reinterpret_cast<const __m128i*>(&key.words[at]) + i));
      sums[i] = _mm_xor_si128(sums[i], _mm_clmulepi64_si128(keyed, keyed, 0x10));
    }
  xor_all(sums, into);
}

[[gnu::target("vpclmulqdq,avx512f")]] inline void wide_add(const std::uint64_t* key, const std::byte* message, __m512i& sum) {
  const __m512i keyed = _mm512_xor_si512(_mm512_loadu_si512(message), _mm512_load_si512(key));
  sum = _mm512_xor_si512(sum, _mm512_clmulepi64_epi128(keyed, keyed, 0x10));
}

[[gnu::target("vpclmulqdq,avx512f")]] void wide_strides(const clnh_key& key, std::size_t at, const std::byte* message,
                                                        std::size_t strides, clnh_digest& into) {
  __m512i sums[4] = {};
  for (; strides >= 4; strides -= 4, at += 4 * stride_words, message += 4 * stride_bytes)
    for (std::size_t i = 0; i < 4; ++i) wide_add(&key.words[at + i * stride_words], message + i * stride_bytes, sums[i]);
  for (; strides > 0; --strides, at += stride_words, message += stride_bytes) wide_add(&key.words[at], message, sums[0]);
  xor_all(sums, into);
}

[[gnu::target("vpclmulqdq,avx512f")]] clnh_digest wide_copy(const clnh_key& key, std::byte* to, const std::byte* from) {
  constexpr std::size_t at_once = 4;
  __m512i sums[at_once] = {};
  for (std::size_t at = 0; at < clnh_block_bytes; at += at_once * stride_bytes)
    for (std::size_t i = 0; i < at_once; ++i) {
      const __m512i m = _mm512_loadu_si512(from + at + i * stride_bytes);
      _mm512_storeu_si512(to + at + i * stride_bytes, m);
      const __m512i keyed = _mm512_xor_si512(m, _mm512_load_si512(&key.words[(at + i * stride_bytes) / 8]));
      sums[i] = _mm512_xor_si512(sums[i], _mm512_clmulepi64_epi128(keyed, keyed, 0x10));
    }
  clnh_digest digest{};
  xor_all(sums, digest);
  return digest;
}

bool has_wide() {
  return __builtin_cpu_supports("vpclmulqdq") && __builtin_cpu_supports("avx512f");
}

strides_function widest() {
  if (has_wide()) return wide_strides;
  return __builtin_cpu_supports("pclmul") ? pclmul_strides : plain_strides;
}

#else

bool has_wide() {
  return false;
}
clnh_digest wide_copy(const clnh_key&, std::byte*, const std::byte*) {
  return {};
}
strides_function widest() {
  return plain_strides;
}

#endif

clnh_digest clnh_with(strides_function strides_of, const clnh_key& key, bytes block) {
  assert(block.size() <= clnh_block_bytes);
  clnh_digest digest{};
  const std::size_t whole = block.size() / stride_bytes;
  strides_of(key, 0, block.data(), whole, digest);
  if (const std::size_t rest = block.size() % stride_bytes; rest != 0) {
    std::byte padded[stride_bytes] = {};
    std::memcpy(padded, block.data() + whole * stride_bytes, rest);
    strides_of(key, whole * stride_words, padded, 1, digest);
  }
  return digest;
}

}  // namespace

clnh_digest clnh(const clnh_key& key, bytes block) {
  static const strides_function chosen = widest();
  return clnh_with(chosen, key, block);
}

clnh_digest clnh_copy(const clnh_key& key, std::byte* to, const std::byte* from) {
  static const bool wide = has_wide();
  if (wide) return wide_copy(key, to, from);
  std::memcpy(to, from, clnh_block_bytes);
  return clnh(key, {to, clnh_block_bytes});
}

clnh_digest clnh_plain(const clnh_key& key, bytes block) {
  return clnh_with(plain_strides, key, block);
}

}  // namespace weft::fabric::reliable
