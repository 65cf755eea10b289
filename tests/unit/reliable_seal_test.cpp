// The keyed tag: stable, sensitive to every bit, the same in one step and in two.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "base/random.h"
#include "reliable/clnh.h"
#include "reliable/seal.h"
#include "os/memory_file.h"

namespace weft::reliable {
namespace {

constexpr std::size_t header_without_tag = 88;

std::vector<std::byte> pattern(std::size_t size, unsigned start = 1) {
  std::vector<std::byte> filled(size);
  for (std::size_t i = 0; i < size; ++i) filled[i] = static_cast<std::byte>((i * 131 + start) >> (i % 5));
  return filled;
}

seal::key test_key() {
  seal::key key;
  for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<std::byte>(i);
  return key;
}

// Two builds, two processors or two versions that disagree here could not talk to each other. The values were computed by a second
// implementation, made from the formulas of docs/wire-format.md.
TEST(seal, the_tag_of_a_known_datagram_never_changes) {
  const seal sealer(test_key());
  const auto header = pattern(header_without_tag, 7);
  const std::pair<std::size_t, std::uint64_t> known[] = {
      {0, 0x942bb61113bb0685u},    {8, 0x456db022ed53db67u},    {256, 0x752579eaebc7599eu},   {257, 0x6884ad76665f611eu},
      {4096, 0xbbe4e00c8f711d97u}, {4097, 0x4915259107e9181bu}, {65411, 0x00c11ecb4e84c26bu},
  };
  for (const auto& [size, tag] : known) EXPECT_EQ(sealer.tag(header, pattern(size)), tag) << size << " bytes";
}

// A page is sent while the program's threads write to it, through another mapping of the same memory.
TEST(seal, what_is_copied_while_it_changes_has_the_digest_of_the_copy) {
  base::random random(4);
  clnh_key key;
  for (auto& word : key.words) word = random.next();
  const auto file = os::create_memory_file("page", clnh_block_bytes).or_throw();
  const auto frame = os::map_file(file.get(), 0, clnh_block_bytes, true).or_throw();
  const auto view = os::map_file(file.get(), 0, clnh_block_bytes, true).or_throw();
  std::atomic<bool> over{false};
  std::thread writes([&] {
    auto* words = reinterpret_cast<std::uint64_t*>(view.base());
    for (std::uint64_t n = 1; !over.load(std::memory_order_relaxed); ++n)
      for (std::size_t i = 0; i < clnh_block_bytes / sizeof n; ++i) __atomic_store_n(words + i, n, __ATOMIC_RELAXED);
  });
  std::vector<std::byte> copy(clnh_block_bytes);
  for (const auto& way : clnh_ways())
    for (int i = 0; i < 2000 && !HasFailure(); ++i) {
      clnh_digest digest{};
      way.add(key, 0, copy.data(), frame.base(), clnh_block_bytes / clnh_stride_bytes, digest);
      EXPECT_EQ(digest, clnh_plain(key, copy)) << way.name << ", " << i;
    }
  over.store(true);
  writes.join();
}

TEST(seal, every_way_to_hash_gives_what_the_definition_gives) {
  base::random random(3);
  clnh_key key;
  for (auto& word : key.words) word = random.next();
  std::vector<std::byte> block(clnh_block_bytes + 1);
  for (auto& b : block) b = static_cast<std::byte>(random.next());
  for (const auto& way : clnh_ways()) {
    SCOPED_TRACE(way.name);
    for (std::size_t size = 0; size <= clnh_block_bytes; size += clnh_stride_bytes)
      for (std::size_t misaligned : {0, 1}) {
        const bytes part(block.data() + misaligned, size);
        clnh_digest digest{};
        way.add(key, 0, nullptr, part.data(), size / clnh_stride_bytes, digest);
        ASSERT_EQ(digest, clnh_plain(key, part)) << size;
      }
    for (std::size_t misaligned : {0, 1}) {
      const bytes whole(block.data() + misaligned, clnh_block_bytes);
      std::vector<std::byte> copy(clnh_block_bytes + 1);
      clnh_digest copied{}, added{};
      for (std::size_t at = 0, n = clnh_stride_bytes; at < clnh_block_bytes; at += n, n += clnh_stride_bytes) {
        n = std::min(n, clnh_block_bytes - at);
        way.add(key, at / 8, copy.data() + misaligned + at, whole.data() + at, n / clnh_stride_bytes, copied);
        way.add(key, at / 8, nullptr, whole.data() + at, n / clnh_stride_bytes, added);
      }
      EXPECT_EQ(copied, clnh_plain(key, whole));
      EXPECT_EQ(added, clnh_plain(key, whole));
      EXPECT_TRUE(std::equal(whole.begin(), whole.end(), copy.begin() + static_cast<std::ptrdiff_t>(misaligned)));
    }
  }
}

TEST(seal, a_payload_that_is_put_together_has_the_same_digest) {
  const seal sealer(test_key());
  base::random random(5);
  for (unsigned round = 0; round < 500; ++round) {
    const auto whole = pattern(seal::short_payload + 1 + random.below(seal::most_payload - seal::short_payload));
    std::vector<std::byte> together(whole.size());
    seal::gathering g;
    for (std::size_t used = 0; used < whole.size();) {
      const std::size_t largest = random.below(3) == 0 ? seal::most_payload : 700;
      const std::size_t n = std::min<std::size_t>(whole.size() - used, random.below(largest));
      sealer.copy(g, together.data(), used, bytes(whole).subspan(used, n));
      used += n;
    }
    ASSERT_EQ(together, whole);
    ASSERT_EQ(sealer.finish(g, together), sealer.digest_of(whole)) << whole.size();
  }
}

TEST(seal, every_flipped_bit_changes_the_tag) {
  const seal sealer(test_key());
  for (const std::size_t size : {0, 1, 8, 255, 256, 257, 320, 1000, 4096, 4097, 9000}) {
    auto datagram = pattern(header_without_tag + size);
    const auto tag = [&] {
      return sealer.tag(bytes(datagram).first(header_without_tag), bytes(datagram).subspan(header_without_tag));
    };
    const auto right = tag();
    for (std::size_t bit = 0; bit < datagram.size() * 8; ++bit) {
      datagram[bit / 8] ^= std::byte{1} << bit % 8;
      ASSERT_NE(tag(), right) << "bit " << bit << " of " << size << " bytes of payload";
      datagram[bit / 8] ^= std::byte{1} << bit % 8;
    }
  }
}

TEST(seal, exchanged_blocks_change_the_tag) {
  const seal sealer(test_key());
  const auto header = pattern(header_without_tag);
  auto payload = pattern(3 * clnh_block_bytes);
  payload[5] ^= std::byte{1};
  const auto right = sealer.tag(header, payload);
  std::swap_ranges(payload.begin(), payload.begin() + clnh_block_bytes, payload.begin() + clnh_block_bytes);
  EXPECT_NE(sealer.tag(header, payload), right);
}

TEST(seal, a_cached_digest_gives_the_same_tag_under_any_header) {
  const seal sealer(test_key());
  for (const std::size_t size : {257, 4096, 10000, 65411}) {
    const auto payload = pattern(size);
    const auto digest = sealer.digest_of(payload);
    for (unsigned header = 0; header < 10; ++header) {
      const auto h = pattern(header_without_tag, header);
      EXPECT_EQ(sealer.tag(h, digest), sealer.tag(h, payload));
    }
  }
}

TEST(seal, verification_accepts_the_right_tag_only) {
  const seal sealer(test_key());
  for (const std::size_t size : {0, 100, 256, 257, 60000}) {
    const auto datagram = pattern(header_without_tag + size);
    const auto right = sealer.tag(bytes(datagram).first(header_without_tag), bytes(datagram).subspan(header_without_tag));
    EXPECT_TRUE(sealer.verify(right, datagram, header_without_tag));
    for (unsigned bit = 0; bit < 64; ++bit)
      EXPECT_FALSE(sealer.verify(right ^ std::uint64_t{1} << bit, datagram, header_without_tag));
  }
}

TEST(seal, another_key_gives_another_tag) {
  const auto header = pattern(header_without_tag);
  for (const std::size_t size : {0, 100, 5000}) {
    const auto payload = pattern(size);
    const auto right = seal(test_key()).tag(header, payload);
    for (std::size_t bit = 0; bit < 128; ++bit) {
      auto key = test_key();
      key[bit / 8] ^= std::byte{1} << bit % 8;
      EXPECT_NE(seal(key).tag(header, payload), right);
    }
  }
}

}  // namespace
}  // namespace weft::reliable
