// The end of a node that cannot go on.
#pragma once

#include <string>

#include <weft/status.h>

namespace weft::runtime {

// One sentence, not a stack of them: the launcher says it, once and for all nodes, or this node for itself.
[[noreturn]] void end_with(errc why, const std::string& sentence) noexcept;

// Who is told of the sentence before the node ends; whether it will be said there, so that this node need not.
using end_listener = bool (*)(errc why, const std::string& sentence) noexcept;
void tell_of_end(end_listener listener) noexcept;

}  // namespace weft::runtime
