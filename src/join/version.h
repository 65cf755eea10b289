// The version of weft, as `weft --version` prints it and as nodes and agents compare it when they meet.
#pragma once

namespace weft::runtime {

inline constexpr const char* version = "0.1.0";

}  // namespace weft::runtime
