#include <weft/status.h>

namespace weft {

const char* to_string(errc code) noexcept {
  switch (code) {
    case errc::invalid_argument: return "invalid argument";
    case errc::no_right: return "no right";
    case errc::out_of_bounds: return "out of bounds";
    case errc::revoked: return "revoked";
    case errc::node_failed: return "node failed";
    case errc::timed_out: return "timed out";
    case errc::too_large: return "too large";
    case errc::would_block: return "would block";
    case errc::unavailable: return "unavailable";
    case errc::system: return "system";
  }
  return "unknown";
}

}  // namespace weft
