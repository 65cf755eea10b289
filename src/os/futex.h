// Sleeping until a word changes, across processes.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/clock.h"

namespace weft::os {

using futex_word = std::atomic<std::uint32_t>;

// Sleeps while `w` holds `seen`, at most `limit` nanoseconds; may return early for no reason.
void futex_wait(futex_word& w, std::uint32_t seen, base::nanoseconds limit) noexcept;
void futex_wake(futex_word& w, int how_many) noexcept;

}  // namespace weft::os
