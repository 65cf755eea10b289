// What `weft top` shows of one second: from two samples of every node, the rates in between, as lines of text.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "join/control.h"

namespace weft::cli::top {

// Of all nodes at about one time; a node that has not answered has none.
using samples = std::vector<std::optional<control::sample>>;

// `seconds` lie between the two. At most `height` lines.
std::vector<std::string> frame(const samples& before, const samples& now, double seconds, std::size_t height);

}  // namespace weft::cli::top
