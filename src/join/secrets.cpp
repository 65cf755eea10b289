#include "join/secrets.h"

#include <sodium.h>

namespace weft::runtime {

status make_secrets(std::uint64_t& group, std::array<std::byte, 16>& key) {
  if (sodium_init() < 0) return {errc::unavailable, "libsodium could not be initialised, so there is no key for the job"};
  randombytes_buf(&group, sizeof group);
  randombytes_buf(key.data(), key.size());
  return {};
}

}  // namespace weft::runtime
