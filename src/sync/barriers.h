// The barrier of all nodes, and the exchange of small values that goes with it. Two ways: words (word_barrier.h) and messages that
// carry a protocol's notices (message_barrier.h).
//
// One thread of each node calls. A barrier is a release and an acquire in the sense of the coherence protocol.
#pragma once

#include <weft/port.h>

namespace weft::sync {

inline constexpr std::size_t most_gathered = 1024;

class barriers {
 public:
  virtual ~barriers() = default;

  virtual status arrive_and_wait() = 0;

  // The same, and everybody gets everybody's bytes, by node; all give the same number, at most most_gathered.
  virtual status gather(bytes mine, mutable_bytes all) = 0;
};

}  // namespace weft::sync
