// Which thread this is: how a mutex knows who holds it.
#pragma once

#include <cstdint>

#include <sys/syscall.h>
#include <unistd.h>

namespace weft::detail {

// Never 0, and no other thread of this host has the same.
inline std::uint32_t thread_number() noexcept {
  thread_local constinit std::uint32_t number = 0;
  if (number == 0) [[unlikely]]
    number = static_cast<std::uint32_t>(::syscall(SYS_gettid));
  return number;
}

inline constexpr const char* not_the_holder =
    "a mutex was unlocked by a thread that does not hold it; the thread that has locked it unlocks it";

}  // namespace weft::detail
