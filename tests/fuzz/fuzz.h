// What a fuzz target provides. The driver in driver.cpp calls it with kept and mutated inputs; libFuzzer can be linked instead, as
// the entry point is its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

// Runs the code under test on one input. Must not crash, whatever the input; returns 0.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace fuzz {

using input = std::vector<std::uint8_t>;

// Well-formed inputs to start from: what `--generate` writes into the corpus folder.
std::vector<input> examples();

}  // namespace fuzz
