// The bootstrap of a node that `weft run` started: it talks to the agent of its host over a socket that it inherited.
#pragma once

#include <memory>

#include "join/bootstrap.h"

namespace weft::runtime {

// Holds the number of the inherited socket.
inline constexpr const char* control_variable = "WEFT_CONTROL_FD";

// Also in the environment of every node, for programs that do not join: its number, and how many there are.
inline constexpr const char* node_variable = "WEFT_NODE";
inline constexpr const char* nodes_variable = "WEFT_NODES";

result<std::unique_ptr<bootstrap>> join_launched();

}  // namespace weft::runtime
