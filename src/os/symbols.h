// What an address of this program is called: for telling people where a thread is.
#pragma once

#include <string>

namespace weft::os {

// Of code: "prog+0x1234 in function(int)", or without the function if the program does not have its name, or "" for null.
std::string name_of_code(const void* address);

// Of a call, by its return address: "/path/of/prog+0x1233", for tools that know the program's lines (addr2line); "" if it is in no file.
std::string place_of_call(const void* return_address);

// Of a variable that is not on a stack or in a heap: its name, or "" if the program does not have it.
std::string name_of_variable(const void* address);

}  // namespace weft::os
