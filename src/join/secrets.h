// The secrets of a job: the key that authenticates its datagrams and the group id that tells it from other jobs.
#pragma once

#include "join/bootstrap.h"

namespace weft::runtime {

// Fills in fresh ones, from the system's generator by way of libsodium.
status make_secrets(std::uint64_t& group, std::array<std::byte, 16>& key);

}  // namespace weft::runtime
