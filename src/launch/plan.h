// What `weft run` was asked to do, checked and complete.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "join/launch_options.h"
#include "launch/placement.h"

namespace weft::launch {

// The command line as the user wrote it.
struct run_request {
  std::optional<std::string> nodes, hosts, launcher, remote_weft, timeout;
  std::optional<std::string> fabric, impair, port, interface, provider, stall_after, dead_after, protocol, engine, protocol_memory,
      trace;
  std::string stats;  // "": none; "true": to standard error; else a file
  bool lock_memory = false, share_cores = false, tag_output = false, verbose = false;
  std::vector<std::string> environment;  // NAME or NAME=VALUE
  std::vector<std::string> program;      // and its arguments
};

struct run_plan {
  std::vector<launch::host_slots> hosts;
  std::vector<std::uint32_t> host_of;            // of every node
  std::vector<std::vector<std::string>> agents;  // of every host: the command that starts its agent; empty: this machine
  std::vector<std::string> program;
  std::string directory;
  std::vector<std::string> environment;  // NAME=VALUE
  runtime::launch_options options;
  base::nanoseconds timeout = 0;      // 0: none
  base::nanoseconds stall_after = 0;  // 0: never
  bool tag_output = false, verbose = false;
  std::string note;  // something the user may want to know, or empty

  std::uint32_t nodes() const { return static_cast<std::uint32_t>(host_of.size()); }
};

// One sentence about the first thing that makes no sense.
result<run_plan> make_plan(const run_request& request);

}  // namespace weft::launch
