// What a node has besides if its job is traced: the events, a port that adds to them, and how far its clock is from node 0's.
#pragma once

#include <string>

#include "observe/activity.h"
#include "observe/trace.h"
#include "join/bootstrap.h"
#include "insight/clocks.h"
#include "insight/traced_port.h"

namespace weft::runtime {

class tracing {
 public:
  // Before any node uses its port. `far`: on another host than node 0.
  tracing(observe::activity& a, weft::port& p, bool far);

  traced_port& port() noexcept { return port_; }

  // Once all nodes can be reached.
  void compare_clocks();

  // All nodes, at the end: node 0 has the document put where the user asked for it.
  void write(bootstrap& boot, const std::string& where, base::nanoseconds limit);

 private:
  observe::trace events_;
  clocks clocks_;
  traced_port port_;
  const bool far_;
  clock_difference difference_;
  base::nanoseconds first_error_ = 0;  // of the first measurement
};

}  // namespace weft::runtime
