// The statistics of a job: what every node has done, gathered at node 0 when the job ends, as one JSON document. What each number means
// is in docs/statistics.md.
#pragma once

#include <array>
#include <string>
#include <vector>

#include <weft/port.h>

#include "base/activity.h"
#include "base/bytes.h"
#include "dsm/protocol_statistics.h"
#include "runtime/bootstrap.h"
#include "runtime/observed.h"

namespace weft::runtime {

// What a node tells of itself. Plain data: all nodes run the same build.
struct node_statistics {
  std::uint32_t threads = 0;
  base::nanoseconds wall = 0;
  std::array<base::nanoseconds, base::phases> spent{};
  base::nanoseconds served = 0;
  std::array<std::uint64_t, base::events> events{};
  std::uint64_t barriers = 0;
  dsm::protocol_statistics protocol;
  port_statistics port;
};
struct traffic_with {
  std::uint64_t node = 0, fetched = 0, changed = 0;
};

// This node's since it began, as bytes for the others: at most `room` of them. With too many peers for that, those with the least traffic are left
// out.
base::byte_buffer collect(const base::activity& a, base::nanoseconds began, const observed& shared, const port& p, std::size_t room);

// The document, from what all nodes have collected, by node.
std::string statistics_document(const identity& who, const char* way, const char* fabric, const observed& shared,
                                const std::vector<base::byte_buffer>& all);

// Writes it where option `stats` says: into a file, or with "-" to standard error.
status write_document(const std::string& where, const std::string& document);

}  // namespace weft::runtime
