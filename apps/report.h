// What a program says at its end: one line, from node 0.
#pragma once

#include <cstdio>
#include <string>

#include <weft/weft.h>

#include "options.h"

namespace app {

struct outcome {
  double seconds = 0;
  std::string checksum;
  std::string difference;  // from the sequential run; empty if there is none
};

// Returns the exit status.
inline int report(const weft::job& job, const options& o, const std::string& what, const outcome& result) {
  if (job.self() != 0) return 0;
  const bool wrong = o.verify && !result.difference.empty();
  if (wrong) std::fprintf(stderr, "%s: differs from the sequential run: %s\n", what.c_str(), result.difference.c_str());
  if (o.time_only)
    std::printf("seconds=%.6f\n", result.seconds);
  else
    std::printf("%s: %.6f s on %u node%s with %u thread%s each, checksum %s%s\n", what.c_str(), result.seconds, job.nodes(),
                job.nodes() == 1 ? "" : "s", o.threads, o.threads == 1 ? "" : "s", result.checksum.c_str(),
                o.verify && !wrong ? ", verified" : "");
  return wrong ? 1 : 0;
}

}  // namespace app
