// What protocols choose: programs that use a page in one plain way, round after round, and counts that say what the protocol has made of it.
// A wrong choice makes no program wrong, only slow, so nothing else in these tests would notice.
#pragma once

#include <optional>
#include <string>

namespace dst {

// Every way that the protocol has something to choose in; prints what was done. What it did not choose, if anything.
std::optional<std::string> run_choices(const std::string& protocol);

}  // namespace dst
