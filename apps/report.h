// What a program says at its end: one line, from node 0.
#pragma once

#include <algorithm>
#include <cstdint>
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

// The whole program --repeat times, from its allocation on: the fastest run, the last checksum, and the first difference. The first
// run meets memory that nobody has used before; what it costs to get that from the kernel is not in the fastest.
template <typename Run>
outcome repeated(const options& o, Run&& run) {
  const auto once = [&] {
    o.begin_turn();
    outcome one = run();
    o.end_turn(one.seconds);
    return one;
  };
  outcome all = once();
  for (std::uint32_t i = 1; i < o.repeat; ++i) {
    const outcome one = once();
    all = {std::min(all.seconds, one.seconds), one.checksum, all.difference.empty() ? one.difference : all.difference};
  }
  return all;
}

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
