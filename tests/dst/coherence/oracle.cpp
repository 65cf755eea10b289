#include "dst/coherence/oracle.h"

#include <algorithm>
#include <cstring>

#include "base/text.h"

namespace dst {

using weft::base::format;

oracle::oracle(const program& p) {
  for (const auto& a : p.arrays) {
    memory_.emplace_back(a.bytes);
    origins_.emplace_back(a.bytes);
  }
}

void oracle::wrote(std::uint32_t array, std::size_t offset, const std::byte* data, std::size_t size, std::uint32_t thread,
                   std::uint32_t unit) {
  std::memcpy(memory_[array].data() + offset, data, size);
  for (std::size_t i = 0; i < size; ++i) origins_[array][offset + i] = {thread, unit};
}

std::optional<std::string> oracle::found(std::uint32_t array, std::size_t offset, const std::byte* data, std::size_t size) const {
  if (std::memcmp(memory_[array].data() + offset, data, size) == 0) return std::nullopt;
  std::size_t i = 0;
  while (memory_[array][offset + i] == data[i]) ++i;
  const auto& o = origins_[array][offset + i];
  std::string text = format("byte %zu of array %u is %02x and must be %02x", offset + i, array, static_cast<unsigned>(data[i]),
                            static_cast<unsigned>(memory_[array][offset + i]));
  if (o.thread == unset) return text + ", because nobody has written it";
  return text + format(", which thread %u wrote in unit %u", o.thread, o.unit);
}

std::optional<std::string> oracle::locked(std::uint32_t object, std::uint32_t thread) {
  const auto [held, fresh] = holders_.try_emplace(object, thread);
  if (fresh) return std::nullopt;
  return format("mutex %u was given to it while thread %u holds it", object, held->second);
}

std::optional<std::string> oracle::entered(std::uint32_t object, bool writing) {
  auto& s = shared_[object];
  if (s.writer || (writing && s.readers != 0))
    return format("shared mutex %u let in a %s beside others", object, writing ? "writer" : "reader");
  if (writing)
    s.writer = true;
  else
    ++s.readers;
  return std::nullopt;
}

void oracle::leaves(std::uint32_t object, bool writing) {
  auto& s = shared_[object];
  if (writing)
    s.writer = false;
  else
    --s.readers;
}

std::optional<std::string> oracle::reached(std::uint32_t object, std::uint64_t value) {
  if (values_[object] >= value) return std::nullopt;
  return format("flag or counter %u was said to be %llu before it was", object, static_cast<unsigned long long>(value));
}

std::optional<std::string> oracle::left(std::uint32_t object, std::uint64_t generation, std::uint64_t expected) {
  if (arrivals_[{object, generation}] == expected) return std::nullopt;
  return format("barrier was left when %llu of %llu had arrived", static_cast<unsigned long long>(arrivals_[{object, generation}]),
                static_cast<unsigned long long>(expected));
}

std::optional<std::string> oracle::allocated(std::uint64_t at, std::uint64_t size) {
  const auto after = blocks_.lower_bound(at);
  const bool clear = (after == blocks_.end() || at + size <= after->first) &&
                     (after == blocks_.begin() || std::prev(after)->first + std::prev(after)->second <= at);
  blocks_[at] = size;
  if (clear) return std::nullopt;
  return format("%llu bytes were allocated over a block that is in use", static_cast<unsigned long long>(size));
}

}  // namespace dst
