// Measuring a fabric or the shared memory over it: starts two nodes of this very program through the launcher and collects what they say.
#pragma once

#include <functional>
#include <string>

#include <weft/status.h>

#include "bench/harness/measurement.h"
#include "bench/harness/schedule.h"

namespace weft::bench {

// "cashmere.shm", or "cashmere.shm.copied" for the protocol "cashmere:copied".
std::string system_name(const std::string& protocol, const std::string& fabric);

struct job_request {
  std::string fabric;
  std::string provider;  // of ofi; empty: weft chooses
  std::string impair;
  suite which = suite::everything;
  settings how;
  unsigned nodes = 2;
  std::string protocol = "";  // of shared memory; empty: weft chooses
  std::string only = "";      // operations of the suite, with commas between them; empty: all

  // "cashmere.shm": the shared memory that is measured; without a protocol the fabric. A protocol's variant comes last.
  std::string system() const { return protocol.empty() ? fabric : system_name(protocol, fabric); }
};

// `step` is called with what is about to be measured, once a sample.
result<measurements> measure_in_job(const job_request& r, const std::function<void(const std::string&)>& step);

}  // namespace weft::bench
