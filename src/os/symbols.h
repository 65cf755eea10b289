// What an address of this program is called: for telling people where a thread is.
#pragma once

#include <string>

namespace weft::os {

// Of code: "prog+0x1234 in function(int)", or without the function if the program does not have its name, or "" for null.
std::string name_of_code(const void* address);

// Of a variable that is not on a stack or in a heap: its name, or "" if the program does not have it.
std::string name_of_variable(const void* address);

}  // namespace weft::os
