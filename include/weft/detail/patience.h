// Waiting on words that threads or processes of one host share: spin for a while, then sleep in the kernel.
//
// Nobody sleeps through a change. A waiter announces itself in `sleepers` before it looks one last time; whoever changes the word
// looks at `sleepers` afterwards. Both are sequentially consistent, so one of them sees the other.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <climits>
#include <cstdint>
#include <ctime>

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace weft::detail {

// The futex is the low half of a 64-bit word, or all of a 32-bit one. Not private: the word may be shared by processes.
template <typename Word>
std::uint32_t* futex_of(std::atomic<Word>& word) noexcept {
  static_assert(sizeof(std::atomic<Word>) == sizeof(Word) && std::endian::native == std::endian::little);
  return reinterpret_cast<std::uint32_t*>(&word);
}

template <typename Word>
void wake(std::atomic<Word>& word, int how_many) noexcept {
  ::syscall(SYS_futex, futex_of(word), FUTEX_WAKE, how_many, nullptr, nullptr, 0);
}
template <typename Word>
void wake_all(std::atomic<Word>& word) noexcept {
  wake(word, INT_MAX);
}

// Sleeps while the word's low half is `seen`, for `limit` at most.
template <typename Word>
void sleep(std::atomic<Word>& word, Word seen, std::chrono::nanoseconds limit) noexcept {
  const std::timespec t{limit.count() / 1'000'000'000, limit.count() % 1'000'000'000};
  ::syscall(SYS_futex, futex_of(word), FUTEX_WAIT, static_cast<std::uint32_t>(seen), &t, nullptr, 0);
}

// One wait's patience: busy for some microseconds, a core given away now and then, because there may be more waiters than cores.
class patience {
 public:
  bool spent() noexcept {
    ++turns_;
    if (turns_ % yield_every == 0) {
      ::sched_yield();
      return turns_ >= most_turns;
    }
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
    return false;
  }

 private:
  static constexpr unsigned yield_every = 256, most_turns = 16 * yield_every;
  unsigned turns_ = 0;
};

// Waits until `ready` holds, which looks at `word`; false if that takes longer than `limit`.
template <typename Word, typename Ready>
bool wait_until(std::atomic<Word>& word, std::atomic<std::uint32_t>& sleepers, std::chrono::nanoseconds limit, Ready&& ready) {
  if (ready()) return true;
  if (limit == std::chrono::nanoseconds::zero()) return false;
  using clock = std::chrono::steady_clock;
  constexpr std::chrono::nanoseconds longest = std::chrono::milliseconds(250);
  for (patience p; !p.spent();)
    if (ready()) return true;
  const auto start = clock::now();
  while (true) {
    sleepers.fetch_add(1);
    const Word seen = word.load();
    const bool held = ready();
    const auto left = limit == std::chrono::nanoseconds::max() ? longest : std::min(longest, limit - (clock::now() - start));
    if (!held && left.count() > 0) sleep(word, seen, left);
    sleepers.fetch_sub(1, std::memory_order_relaxed);  // a late wake-up wakes nobody
    if (held || ready()) return true;
    if (left.count() <= 0) return false;
  }
}

// Waits while the word is `seen`. Acquire pairs with whatever changed it.
template <typename Word>
void wait_while(std::atomic<Word>& word, Word seen, std::atomic<std::uint32_t>& sleepers) {
  wait_until(word, sleepers, std::chrono::nanoseconds::max(), [&] { return word.load(std::memory_order_acquire) != seen; });
}

}  // namespace weft::detail
