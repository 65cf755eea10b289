// The litmus tests on simulated nodes: no outcome but the allowed ones, and each of these is seen.
#pragma once

#include <optional>
#include <string>

namespace dst {

// All shapes by all synchronisations by all places; prints what was done. What went wrong, if anything.
std::optional<std::string> run_litmus(const std::string& protocol);

}  // namespace dst
