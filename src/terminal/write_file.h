// Results as files.
#pragma once

#include <string>

namespace weft::terminal {

// Nothing if the path is empty; throws weft::error if the file cannot be written.
void write_file(const std::string& path, const std::string& text);

}  // namespace weft::terminal
