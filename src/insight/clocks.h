// How far a node's clock is from node 0's, so that what happened on several hosts can be put on one line of time.
//
// A node asks node 0 for its time again and again; the quickest answer is the most exact, to half its round trip. Between the beginning
// and the end of the job clocks drift evenly. Nodes on one host have one clock.
#pragma once

#include <weft/port.h>

#include "base/clock.h"

namespace weft::runtime {

class clocks {
 public:
  // All nodes, before any of them measures.
  explicit clocks(port& p);

  // What to add to this node's time to have node 0's, as it is now, and by how much that may be wrong. Fails if node 0 does not answer.
  struct measurement {
    base::nanoseconds difference, error;
  };
  result<measurement> measure();

 private:
  port& port_;
};

// Two measurements; between them, and beyond, on a straight line.
struct clock_difference {
  base::nanoseconds first_at = 0, first = 0, last_at = 0, last = 0;
  base::nanoseconds corrected(base::nanoseconds at) const;
};

}  // namespace weft::runtime
