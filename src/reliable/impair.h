// A bad network, by seed: loses, repeats, reorders, delays and damages datagrams. For tests, demonstrations and `--impair`.
//
// Pure, as the link is: datagrams and time go in, datagrams and a deadline come out; the same seed and the same calls give the same
// faults. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <weft/port.h>
#include <weft/status.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/random.h"

namespace weft::reliable {

struct impairment {
  double loss = 0, duplicate = 0, reorder = 0, corrupt = 0;  // shares of all datagrams, 0 to 1
  base::nanoseconds delay = 0;                               // of every datagram
  base::nanoseconds jitter = 0;                              // and up to this much more
  std::uint64_t seed = 1;

  bool none() const { return loss == 0 && duplicate == 0 && reorder == 0 && corrupt == 0 && delay == 0 && jitter == 0; }

  // "loss=5%,dup=1%,reorder=2%,delay=100us,jitter=50us,corrupt=1%,seed=7": any of them, in any order; "" is none.
  static result<impairment> parse(std::string_view text);
  std::string text() const;
};

class impaired_path {
 public:
  static constexpr std::size_t most_queued = 4096;
  static constexpr std::size_t most_queued_bytes = std::size_t{64} << 20;
  static constexpr base::nanoseconds never = INT64_MAX;

  explicit impaired_path(const impairment& how) : how_(how), random_(how.seed) {}

  // Takes a copy of the datagram, or of its two halves. Beyond the bounds above it is lost, as in a router.
  void push(base::nanoseconds now, bytes datagram) { push(now, datagram, {}); }
  void push(base::nanoseconds now, bytes head, bytes body);

  // A datagram to really send now, earliest first. Valid until the next call.
  std::optional<bytes> pop_due(base::nanoseconds now);

  // When the next one is due; `never` if none is queued.
  base::nanoseconds deadline() const { return queue_.empty() ? never : queue_.front().due; }

  std::size_t queued() const { return queue_.size(); }
  std::uint64_t overflowed() const { return overflowed_; }

 private:
  struct entry {
    base::nanoseconds due;
    std::uint64_t serial;  // keeps datagrams that are due together in order
    base::byte_buffer datagram;
  };
  static bool later(const entry& a, const entry& b) { return a.due != b.due ? a.due > b.due : a.serial > b.serial; }

  void enqueue(base::nanoseconds now, bytes head, bytes body);
  void damage(base::byte_buffer& datagram);

  impairment how_;
  base::random random_;
  std::vector<entry> queue_;  // a heap, earliest first
  std::size_t queued_bytes_ = 0;
  std::uint64_t next_serial_ = 0, overflowed_ = 0;
  base::byte_buffer given_;               // what pop_due returned last
  std::vector<base::byte_buffer> spare_;  // recycled, at most a few
};

}  // namespace weft::reliable
