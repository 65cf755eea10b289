#include "dsm/patch.h"

#include <cstring>
#include <utility>

namespace weft::dsm {

namespace {

constexpr std::uint64_t low_bits = 0x0101'0101'0101'0101u;

// A bit for each byte of x that is not zero, as the lowest bit of that byte.
std::uint64_t bytes_set(std::uint64_t x) {
  constexpr std::uint64_t low_seven = 0x7f * low_bits;
  return ((((x & low_seven) + low_seven) | x) >> 7) & low_bits;
}

// The sum of eight bytes, if it fits into one.
std::size_t sum_of_bytes(std::uint64_t x) {
  return x * low_bits >> 56;
}

// std::popcount is a call where the processor is not known to have an instruction for it.
std::size_t count_bits(std::uint64_t x) {
  x -= x >> 1 & 0x5555'5555'5555'5555u;
  x = (x & 0x3333'3333'3333'3333u) + (x >> 2 & 0x3333'3333'3333'3333u);
  return sum_of_bytes((x + (x >> 4)) & 0x0f * low_bits);
}

// The lowest bits of eight bytes, side by side.
std::uint64_t gather(std::uint64_t bits) {
  return bits * 0x0102'0408'1020'4080u >> 56;
}

// All bits of the bytes whose bit is set in `mask`, which has eight.
std::uint64_t spread(std::uint64_t mask) {
  const std::uint64_t bits = (mask * low_bits) & 0x8040'2010'0804'0201u;
  return bytes_set(bits) * 0xff;
}

// Stores those bytes of a word that `mask` names, in as few pieces as there are, and touches no other.
void store_bytes(std::byte* to, std::uint64_t word, std::uint64_t mask) {
  //~ patch_stores_whole_words
  if (mask == 0xff) return base::store(to, word);
  for (std::size_t i = 0; i < patch::word_bytes;) {
    const auto rest = mask >> i;
    if (i % 4 == 0 && (rest & 0xf) == 0xf) {
      base::store(to + i, static_cast<std::uint32_t>(word >> i * 8));
      i += 4;
    } else if (i % 2 == 0 && (rest & 3) == 3) {
      base::store(to + i, static_cast<std::uint16_t>(word >> i * 8));
      i += 2;
    } else {
      if (rest & 1) to[i] = static_cast<std::byte>(word >> i * 8);
      ++i;
    }
  }
}

}  // namespace

std::size_t patch::line_size(std::uint64_t mask) noexcept {
  return word_bytes + word_bytes * sum_of_bytes(bytes_set(mask));
}

patch patch::make(page_id p, const std::byte* now, std::byte* before, std::byte* into, amount& changed) noexcept {
  changed = {};
  std::uint64_t up_to_here = 0;  // 1: the byte before this line was changed
  std::uint64_t changed_lines = 0;
  std::byte* at = into + header_bytes;
  for (std::size_t line = 0; line < lines; ++line) {
    const std::size_t offset = line * line_bytes;
    const auto continued = std::exchange(up_to_here, 0);
    if (std::memcmp(now + offset, before + offset, line_bytes) == 0) continue;
    std::uint64_t mask = 0;
    std::byte* words = at + word_bytes;
    for (std::size_t w = 0; w < line_bytes; w += word_bytes) {
      const auto word = base::load<std::uint64_t>(now + offset + w);
      const auto different = word ^ base::load<std::uint64_t>(before + offset + w);
      if (different == 0) continue;
      mask |= gather(bytes_set(different)) << w;
      base::store(before + offset + w, word);
      base::store(words, word);
      words += word_bytes;
    }
    if (mask == 0) continue;  // changed back meanwhile
    base::store(at, mask);
    at = words;
    changed_lines |= std::uint64_t{1} << line;
    changed.bytes += count_bits(mask);
    changed.ranges += count_bits(mask & ~(mask << 1 | continued));
    up_to_here = mask >> 63;
  }
  patch made;
  if (changed_lines == 0) return made;
  base::store(into, p);
  base::store(into + sizeof p, changed_lines);
  made.page_ = p;
  made.encoded_ = {into, at};
  return made;
}

bool patch::read(base::reader& from, page_id pages, patch& into) noexcept {
  const base::byte_view rest = from.rest();
  into.page_ = from.take<page_id>();
  const auto changed_lines = from.take<std::uint64_t>();
  for (auto left = changed_lines; left != 0 && from.ok(); left &= left - 1) {
    const auto mask = from.take<std::uint64_t>();
    if (mask == 0) return false;
    from.take_bytes(line_size(mask) - sizeof mask);
  }
  into.encoded_ = rest.first(rest.size() - from.left());
  return from.ok() && changed_lines != 0 && into.page_ < pages;
}

void patch::apply(std::byte* page, std::byte* twin) const noexcept {
  for_lines([&](std::size_t offset, std::uint64_t mask, const std::byte* words) {
    for (std::size_t at = offset; mask != 0; mask >>= 8, at += word_bytes) {
      const std::uint64_t in_word = mask & 0xff;
      if (in_word == 0) continue;
      const auto word = base::load<std::uint64_t>(words);
      words += word_bytes;
      store_bytes(page + at, word, in_word);
      //~ patch_forgets_the_twin
      if (!twin) continue;
      const auto those = spread(in_word);
      base::store(twin + at, (base::load<std::uint64_t>(twin + at) & ~those) | (word & those));
    }
  });
}

}  // namespace weft::dsm
