// Scenes: what comes too seldom by chance is led to happen. Messages are held up on their way, and threads wait for one another outside of the
// shared memory.
#pragma once

#include <optional>
#include <string>

namespace dst {

// Every scene for the protocol; prints how many there were. What went wrong, if anything.
std::optional<std::string> run_directed(const std::string& protocol);

}  // namespace dst
