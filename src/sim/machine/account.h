// What a node has done up to a moment; the difference of two of them is what it did between.
#pragma once

#include "dsm/protocol_statistics.h"
#include "sim/machine/breakdown.h"

namespace weft::sim {

struct account {
  breakdown spent;
  std::uint64_t references = 0, misses = 0, messages = 0, bytes = 0;
  std::uint64_t read_faults = 0, write_faults = 0, fetched_pages = 0, changed_pages = 0, changed_bytes = 0, notices = 0,
                invalidated = 0;

  // Everything but the time.
  static constexpr std::uint64_t account::*counts[] = {&account::references,    &account::misses,        &account::messages,
                                                       &account::bytes,         &account::read_faults,   &account::write_faults,
                                                       &account::fetched_pages, &account::changed_pages, &account::changed_bytes,
                                                       &account::notices,       &account::invalidated};
  static constexpr const char* count_names[] = {"references",    "misses",       "messages",      "bytes",
                                                "read_faults",   "write_faults", "fetched_pages", "changed_pages",
                                                "changed_bytes", "notices",      "invalidated"};

  account& operator+=(const account& other) noexcept { return combine(other, 1); }
  account& operator-=(const account& other) noexcept { return combine(other, ~std::uint64_t{0}); }

 private:
  account& combine(const account& other, std::uint64_t times) noexcept {
    spent.total += times * other.spent.total;
    for (std::size_t c = 0; c < costs; ++c) spent.spent[c] += times * other.spent.spent[c];
    for (const auto count : counts) this->*count += times * (other.*count);
    return *this;
  }
};

}  // namespace weft::sim
