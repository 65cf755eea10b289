// The trace of a job as a document that Perfetto (ui.perfetto.dev) and Chrome (chrome://tracing) open. docs/trace.md says what is in it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "observe/trace.h"
#include "insight/clocks.h"

namespace weft::runtime {

// A node's, as bytes for node 0, at most `room` of them: its last events.
base::byte_buffer encode_trace(const std::vector<observe::trace::thread>& threads, const clock_difference& clock, std::size_t room);

// From those of all nodes, by node: gives the document in pieces, in order.
void write_trace(const std::vector<base::byte_buffer>& nodes, const std::function<void(const std::string&)>& piece);

}  // namespace weft::runtime
