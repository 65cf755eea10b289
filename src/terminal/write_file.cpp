#include "terminal/write_file.h"

#include <fstream>

#include <weft/status.h>

namespace weft::terminal {

void write_file(const std::string& path, const std::string& text) {
  if (!path.empty() && !(std::ofstream(path) << text << std::flush)) throw error(errc::system, "cannot write " + path);
}

}  // namespace weft::terminal
