// Comparing memory with its twin: which words differ, taken over into the twin as they are found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <weft/port.h>

namespace weft::communication {

// Compares `size` bytes (a multiple of 8, aligned so) of `live`, which may be written meanwhile, with `twin`. Words that differ are
// copied to the twin, each whole; appends runs of the twin's bytes, at `offset` plus their place, joined with the last run where they
// continue it. Returns whether anything differed.
bool take_changed_words(const std::byte* live, std::byte* twin, std::size_t size, std::uint64_t offset, std::vector<run>& runs);

}  // namespace weft::communication
