// The programs that lie beside this one: `weft` hands some of its commands to programs of their own, and measuring starts others.
#pragma once

#include <string>
#include <vector>

namespace weft::terminal {

// The path of a program in the folder of the running one.
std::string beside_this_program(const std::string& name);

// Becomes that program. Returns only if that is impossible: complains, and gives the status to end with.
int become(const std::string& name, std::vector<std::string> arguments);

}  // namespace weft::terminal
