#include "reliable/seal.h"

#include <sodium.h>

#include <algorithm>
#include <cassert>
#include <cstring>

#include "base/bytes.h"

namespace weft::reliable {

namespace {

const unsigned char* raw(const std::byte* b) {
  return reinterpret_cast<const unsigned char*>(b);
}
unsigned char* raw(std::byte* b) {
  return reinterpret_cast<unsigned char*>(b);
}

std::uint64_t siphash(bytes message, const std::array<std::byte, 16>& key) {
  static_assert(crypto_shorthash_BYTES == 8 && crypto_shorthash_KEYBYTES == 16);
  std::uint64_t hash;
  crypto_shorthash(reinterpret_cast<unsigned char*>(&hash), raw(message.data()), message.size(), raw(key.data()));
  return hash;
}

// Not inlined: where the compiler sees that a size is bounded, it copies by string instructions, which are slow to start.
[[gnu::noinline]] void copy_some(std::byte* to, const std::byte* from, std::size_t size) {
  if (size != 0) std::memcpy(to, from, size);
}

}  // namespace

// Everything is derived from the job's key by BLAKE2b and a ChaCha20 stream, so that no two uses share key material.
seal::seal(const key& job_key) {
  if (sodium_init() < 0)
    throw error(errc::unavailable, "libsodium could not be initialised: this machine offers no random numbers");
  static constexpr char label[] = "weft datagram seal 2";
  unsigned char stream_key[crypto_stream_chacha20_KEYBYTES];
  crypto_generichash(stream_key, sizeof stream_key, reinterpret_cast<const unsigned char*>(label), sizeof label - 1,
                     raw(job_key.data()), job_key.size());
  std::array<std::byte, 2 * siphash_key_bytes + sizeof hash_key_> material;
  const unsigned char nonce[crypto_stream_chacha20_NONCEBYTES] = {};
  crypto_stream_chacha20(raw(material.data()), material.size(), nonce, stream_key);
  std::memcpy(tag_key_.data(), material.data(), siphash_key_bytes);
  std::memcpy(digest_key_.data(), material.data() + siphash_key_bytes, siphash_key_bytes);
  std::memcpy(&hash_key_, material.data() + 2 * siphash_key_bytes, sizeof hash_key_);
  sodium_memzero(stream_key, sizeof stream_key);
  sodium_memzero(material.data(), material.size());
}

seal::digest seal::digest_of(bytes payload) const {
  assert(payload.size() > short_payload && payload.size() <= most_payload);
  gathering g;
  return finish(g, payload);
}

// Calls add(where in the payload, where in its block, how many bytes, the block's digest) for the next `size` bytes, whole strides.
template <typename Add>
void seal::by_blocks(gathering& g, std::size_t size, Add&& add) {
  for (const std::size_t end = g.hashed + size; g.hashed < end;) {
    const std::size_t at = g.hashed % block_bytes, n = std::min(end - g.hashed, block_bytes - at);
    clnh_digest& digest = g.blocks[g.hashed / block_bytes];
    if (at == 0) digest = {};
    add(g.hashed, at, n, digest);
    g.hashed += static_cast<std::uint32_t>(n);
  }
}

void seal::catch_up(gathering& g, const std::byte* payload, std::size_t end) const {
  by_blocks(g, end / clnh_stride_bytes * clnh_stride_bytes - g.hashed,
            [&](std::size_t from, std::size_t at, std::size_t n, clnh_digest& into) {
              clnh_add(hash_key_, at, {payload + from, n}, into);
            });
}

void seal::copy(gathering& g, std::byte* payload, std::size_t used, bytes more) const {
  constexpr std::size_t hashed_from = 512;  // what is short waits for more
  if (more.size() >= hashed_from) {
    const std::size_t lead = (clnh_stride_bytes - used % clnh_stride_bytes) % clnh_stride_bytes;
    copy_some(payload + used, more.data(), lead);
    used += lead;
    more = more.subspan(lead);
    catch_up(g, payload, used);
    const std::size_t strides = more.size() / clnh_stride_bytes * clnh_stride_bytes;
    by_blocks(g, strides, [&](std::size_t to, std::size_t at, std::size_t n, clnh_digest& into) {
      clnh_copy(hash_key_, at, payload + to, more.subspan(to - used, n), into);
    });
    used += strides;
    more = more.subspan(strides);
  }
  copy_some(payload + used, more.data(), more.size());
}

seal::digest seal::finish(gathering& g, bytes payload) const {
  catch_up(g, payload.data(), payload.size());
  if (const bytes rest = payload.subspan(g.hashed); !rest.empty()) {
    std::byte padded[clnh_stride_bytes] = {};
    std::memcpy(padded, rest.data(), rest.size());
    by_blocks(g, sizeof padded,
              [&](std::size_t, std::size_t at, std::size_t, clnh_digest& into) { clnh_add(hash_key_, at, padded, into); });
  }
  digest whole;
  static_assert(crypto_shorthash_siphashx24_BYTES == sizeof whole);
  crypto_shorthash_siphashx24(raw(whole.data()), reinterpret_cast<const unsigned char*>(g.blocks.data()),
                              (payload.size() + block_bytes - 1) / block_bytes * sizeof(clnh_digest), raw(digest_key_.data()));
  return whole;
}

std::uint64_t seal::tag(bytes header, const digest& payload) const {
  assert(header.size() <= most_header);
  std::array<std::byte, most_header + sizeof payload> joined;
  std::memcpy(joined.data(), header.data(), header.size());
  std::memcpy(joined.data() + header.size(), payload.data(), payload.size());
  return siphash({joined.data(), header.size() + payload.size()}, tag_key_);
}

std::uint64_t seal::tag(bytes header, bytes payload) const {
  if (payload.size() > short_payload) return tag(header, digest_of(payload));
  if (payload.empty()) return siphash(header, tag_key_);
  assert(header.size() <= most_header);
  std::array<std::byte, most_header + short_payload> joined;
  std::memcpy(joined.data(), header.data(), header.size());
  std::memcpy(joined.data() + header.size(), payload.data(), payload.size());
  return siphash({joined.data(), header.size() + payload.size()}, tag_key_);
}

bool seal::verify(std::uint64_t claimed, bytes header_and_payload, std::size_t header_bytes) const {
  const bytes payload = header_and_payload.subspan(header_bytes);
  const std::uint64_t right = payload.size() > short_payload ? tag(header_and_payload.first(header_bytes), digest_of(payload))
                                                             : siphash(header_and_payload, tag_key_);
  return (claimed ^ right) == 0;  // one word: takes as long whether they differ in the first bit or the last
}

}  // namespace weft::reliable
