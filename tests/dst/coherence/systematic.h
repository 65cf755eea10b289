// Small programs (2 or 3 nodes, 2 pages, 2 mutexes) under all schedules of a kind: the plain one, in which whoever runs goes on for as
// long as it can and then the next one goes, and every other that departs from it up to a number of times. Most bugs of concurrency
// need one departure or two.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace dst {

// Prints how many schedules there were. What went wrong, if anything.
std::optional<std::string> run_systematically(const std::string& protocol, std::uint64_t departures);

}  // namespace dst
