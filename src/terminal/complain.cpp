#include "terminal/complain.h"

#include <cstdio>

namespace weft::terminal {

void complain(const std::string& sentence) {
  const auto line = "weft: " + sentence + "\n";
  std::fflush(stdout);
  std::fwrite(line.data(), 1, line.size(), stderr);  // one write, so that lines of several processes stay whole
}

}  // namespace weft::terminal
