// A list of cases, each of which is about some protocols: those of one protocol, each in a process of its own.
#pragma once

#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/text.h"
#include "dst/coherence/apart.h"

namespace dst {

// A case has a name, and its protocols with blanks around each. `play` says what went wrong, if anything; the first that goes wrong is what is
// returned. Prints how many there were, and what it means that all are right.
template <typename Case, typename Play>
std::optional<std::string> run_cases(const std::string& protocol, std::span<const Case> all, const char* right, Play&& play) {
  constexpr unsigned longest = 60;  // seconds
  std::size_t played = 0;
  for (const Case& each : all) {
    if (each.protocols.find(" " + protocol + " ") == std::string_view::npos) continue;
    const auto failed = apart::run(longest, [&](report& r) {
      if (const std::optional<std::string> wrong = play(each)) r.failed(*wrong);
    });
    if (failed) return weft::base::format("%s: %s: %s", protocol.c_str(), each.name, failed->how.c_str());
    ++played;
  }
  std::printf("%s: %zu %s\n", protocol.c_str(), played, right);
  return std::nullopt;
}

}  // namespace dst
