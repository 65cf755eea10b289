// What a run was measured on, for the report: figures without their machine mean nothing.
#pragma once

#include <string>

namespace weft::bench {

struct machine {
  std::string processor, kernel;
  int cores = 0;
  double gigahertz = 0;  // as the kernel says; 0: it does not
};

machine this_machine();

}  // namespace weft::bench
