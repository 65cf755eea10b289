#include "fabric/reliable/nh.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace weft::fabric::reliable {

namespace {

constexpr std::size_t stride = 16;  // words
constexpr std::size_t stride_bytes = stride * 4;

// Adds `strides` strides of `message` to `into`, with the key from word `at` on.
using strides_function = void (*)(const nh_key& key, std::size_t at, const std::byte* message, std::size_t strides, nh_digest& into);

// What NH is. The version below does the same with vectors.
void plain_strides(const nh_key& key, std::size_t at, const std::byte* message, std::size_t strides, nh_digest& into) {
  for (std::size_t s = 0; s < strides; ++s, at += stride, message += stride_bytes) {
    std::uint32_t m[stride];
    std::memcpy(m, message, sizeof m);
    for (std::size_t i = 0; i < stride; i += 2) {
      into[0] += std::uint64_t{m[i] + key.first[at + i]} * std::uint64_t{m[i + 1] + key.first[at + i + 1]};
      into[1] += std::uint64_t{m[i] + key.second[at + i]} * std::uint64_t{m[i + 1] + key.second[at + i + 1]};
    }
  }
}

#if defined(__x86_64__)

// One multiplication takes the even words of both operands; the odd words are brought there by a shift. GCC does not find this form
// by itself, hence the intrinsics. Wider vectors than these gain nothing: the loop waits for the payload, not for the arithmetic.
[[gnu::target("avx2")]] inline void avx2_add(const std::uint32_t* key, __m256i message, __m256i& sum) {
  const __m256i keyed = _mm256_add_epi32(message, _mm256_load_si256(reinterpret_cast<const __m256i*>(key)));
  sum = _mm256_add_epi64(sum, _mm256_mul_epu32(keyed, _mm256_srli_epi64(keyed, 32)));
}

[[gnu::target("avx2")]] void avx2_strides(const nh_key& key, std::size_t at, const std::byte* message, std::size_t strides,
                                          nh_digest& into) {
  __m256i sums[4] = {};
  for (std::size_t s = 0; s < strides; ++s, at += stride, message += stride_bytes) {
    const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(message));
    const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(message + stride_bytes / 2));
    avx2_add(&key.first[at], low, sums[0]);
    avx2_add(&key.second[at], low, sums[1]);
    avx2_add(&key.first[at + stride / 2], high, sums[2]);
    avx2_add(&key.second[at + stride / 2], high, sums[3]);
  }
  std::uint64_t parts[4][4];
  std::memcpy(parts, sums, sizeof parts);
  for (std::size_t i = 0; i < 4; ++i)
    for (const auto part : parts[i]) into[i % 2] += part;
}

strides_function widest() { return __builtin_cpu_supports("avx2") ? avx2_strides : plain_strides; }

#else

strides_function widest() { return plain_strides; }

#endif

nh_digest nh_with(strides_function strides_of, const nh_key& key, bytes block) {
  assert(block.size() <= nh_block_bytes);
  nh_digest digest{};
  const std::size_t whole = block.size() / stride_bytes;
  strides_of(key, 0, block.data(), whole, digest);
  if (const std::size_t rest = block.size() % stride_bytes; rest != 0) {
    std::byte padded[stride_bytes] = {};
    std::memcpy(padded, block.data() + whole * stride_bytes, rest);
    strides_of(key, whole * stride, padded, 1, digest);
  }
  return digest;
}

}  // namespace

void nh_key::set(std::span<const std::uint32_t, material_words> material) {
  std::copy_n(material.begin(), block_words, first.begin());
  std::copy_n(material.begin() + nh_shift_words, block_words, second.begin());
}

nh_digest nh(const nh_key& key, bytes block) {
  static const strides_function chosen = widest();
  return nh_with(chosen, key, block);
}

nh_digest nh_plain(const nh_key& key, bytes block) { return nh_with(plain_strides, key, block); }

}  // namespace weft::fabric::reliable
