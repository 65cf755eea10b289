#include "reliable/clnh.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace weft::reliable {

namespace {

constexpr std::size_t stride_bytes = clnh_stride_bytes, stride_words = stride_bytes / 8;

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

void plain_strides(const clnh_key& key, std::size_t at, std::byte* to, const std::byte* message, std::size_t strides,
                   clnh_digest& into) {
  for (std::size_t s = 0; s < strides; ++s, at += stride_words, message += stride_bytes) {
    std::uint64_t m[stride_words];
    std::memcpy(m, message, sizeof m);
    if (to) std::memcpy(to + s * stride_bytes, m, sizeof m);
    for (std::size_t i = 0; i < stride_words; i += 2) {
      const auto p = product(m[i] ^ key.words[at + i], m[i + 1] ^ key.words[at + i + 1]);
      into[0] ^= p[0];
      into[1] ^= p[1];
    }
  }
}

#if defined(__x86_64__)

// `into` is written at once, as it is read: a load that takes parts of two stores would wait until all that was copied before them has
// left the processor.
void add(__m128i sum, clnh_digest& into) {
  auto* digest = reinterpret_cast<__m128i*>(into.data());
  _mm_storeu_si128(digest, _mm_xor_si128(_mm_loadu_si128(digest), sum));
}

// What is copied is hashed from the register that it went through: the message may change under our hands.
// 0x10: the low word of the first operand times the high word of the second, in each pair.
template <bool copying>
[[gnu::target("pclmul,sse2")]] void narrow_loop(const std::uint64_t* key, std::byte* to, const std::byte* message,
                                                std::size_t strides, clnh_digest& into) {
  constexpr std::size_t at_once = stride_bytes / sizeof(__m128i);
  __m128i sums[at_once] = {};
  for (std::size_t s = 0; s < strides; ++s, key += stride_words, message += stride_bytes, to += copying ? stride_bytes : 0)
    for (std::size_t i = 0; i < at_once; ++i) {
      const __m128i m = _mm_loadu_si128(reinterpret_cast<const __m128i*>(message) + i);
      if constexpr (copying) _mm_storeu_si128(reinterpret_cast<__m128i*>(to) + i, m);
      const __m128i keyed = _mm_xor_si128(m, _mm_load_si128(reinterpret_cast<const __m128i*>(key) + i));
      sums[i] = _mm_xor_si128(sums[i], _mm_clmulepi64_si128(keyed, keyed, 0x10));
    }
  add(_mm_xor_si128(_mm_xor_si128(sums[0], sums[1]), _mm_xor_si128(sums[2], sums[3])), into);
}

template <bool copying>
[[gnu::target("vpclmulqdq,avx2")]] inline void wide_add(const std::uint64_t* key, std::byte* to, const std::byte* message,
                                                        std::size_t i, __m256i& sum) {
  const __m256i m = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(message) + i);
  if constexpr (copying) _mm256_storeu_si256(reinterpret_cast<__m256i*>(to) + i, m);
  const __m256i keyed = _mm256_xor_si256(m, _mm256_load_si256(reinterpret_cast<const __m256i*>(key) + i));
  sum = _mm256_xor_si256(sum, _mm256_clmulepi64_epi128(keyed, keyed, 0x10));
}

// Two strides at once.
template <bool copying>
[[gnu::target("vpclmulqdq,avx2")]] void wide_loop(const std::uint64_t* key, std::byte* to, const std::byte* message,
                                                  std::size_t strides, clnh_digest& into) {
  constexpr std::size_t at_once = 4;
  const std::size_t all = strides * (stride_bytes / sizeof(__m256i));
  __m256i sums[at_once] = {};
  std::size_t at = 0;
  for (; at + at_once <= all; at += at_once)
    for (std::size_t i = 0; i < at_once; ++i) wide_add<copying>(key, to, message, at + i, sums[i]);
  for (; at < all; ++at) wide_add<copying>(key, to, message, at, sums[0]);
  const __m256i sum = _mm256_xor_si256(_mm256_xor_si256(sums[0], sums[1]), _mm256_xor_si256(sums[2], sums[3]));
  add(_mm_xor_si128(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1)), into);
}

template <bool copying>
[[gnu::target("vpclmulqdq,avx512f")]] inline void wider_add(const std::uint64_t* key, std::byte* to, const std::byte* message,
                                                            std::size_t s, __m512i& sum) {
  const __m512i m = _mm512_loadu_si512(message + s * stride_bytes);
  if constexpr (copying) _mm512_storeu_si512(to + s * stride_bytes, m);
  const __m512i keyed = _mm512_xor_si512(m, _mm512_load_si512(key + s * stride_words));
  sum = _mm512_xor_si512(sum, _mm512_clmulepi64_epi128(keyed, keyed, 0x10));
}

// Four strides at once.
template <bool copying>
[[gnu::target("vpclmulqdq,avx512f")]] void wider_loop(const std::uint64_t* key, std::byte* to, const std::byte* message,
                                                      std::size_t strides, clnh_digest& into) {
  constexpr std::size_t at_once = 4;
  __m512i sums[at_once] = {};
  std::size_t at = 0;
  for (; at + at_once <= strides; at += at_once)
    for (std::size_t i = 0; i < at_once; ++i) wider_add<copying>(key, to, message, at + i, sums[i]);
  for (; at < strides; ++at) wider_add<copying>(key, to, message, at, sums[0]);
  const __m512i sum = _mm512_xor_si512(_mm512_xor_si512(sums[0], sums[1]), _mm512_xor_si512(sums[2], sums[3]));
  alignas(sizeof sum) __m128i parts[4];
  _mm512_store_si512(parts, sum);
  add(_mm_xor_si128(_mm_xor_si128(parts[0], parts[1]), _mm_xor_si128(parts[2], parts[3])), into);
}

using loop = void(const std::uint64_t* key, std::byte* to, const std::byte* message, std::size_t strides, clnh_digest& into);

template <loop* copying, loop* adding>
void either(const clnh_key& key, std::size_t at, std::byte* to, const std::byte* message, std::size_t strides, clnh_digest& into) {
  (to ? copying : adding)(&key.words[at], to, message, strides, into);
}

#endif

void add_strides(const clnh_key& key, std::size_t at, std::byte* to, bytes strides, clnh_digest& into) {
  static const auto fastest = clnh_ways().front().add;
  assert(at % stride_bytes == 0 && strides.size() % stride_bytes == 0 && at + strides.size() <= clnh_block_bytes);
  fastest(key, at / 8, to, strides.data(), strides.size() / stride_bytes, into);
}

}  // namespace

std::span<const clnh_way> clnh_ways() {
  static const std::vector<clnh_way> ways = [] {
    std::vector<clnh_way> all;
#if defined(__x86_64__)
    const bool vectors = __builtin_cpu_supports("vpclmulqdq");
    if (vectors && __builtin_cpu_supports("avx512f")) all.push_back({"512 bits", either<wider_loop<true>, wider_loop<false>>});
    if (vectors && __builtin_cpu_supports("avx2")) all.push_back({"256 bits", either<wide_loop<true>, wide_loop<false>>});
    if (__builtin_cpu_supports("pclmul")) all.push_back({"128 bits", either<narrow_loop<true>, narrow_loop<false>>});
#endif
    all.push_back({"plain", plain_strides});
    return all;
  }();
  return ways;
}

void clnh_add(const clnh_key& key, std::size_t at, bytes strides, clnh_digest& into) {
  add_strides(key, at, nullptr, strides, into);
}

void clnh_copy(const clnh_key& key, std::size_t at, std::byte* to, bytes strides, clnh_digest& into) {
  add_strides(key, at, to, strides, into);
}

clnh_digest clnh_plain(const clnh_key& key, bytes block) {
  assert(block.size() <= clnh_block_bytes);
  std::byte padded[clnh_block_bytes] = {};
  std::ranges::copy(block, padded);
  clnh_digest digest{};
  plain_strides(key, 0, nullptr, padded, (block.size() + stride_bytes - 1) / stride_bytes, digest);
  return digest;
}

}  // namespace weft::reliable
