// What tells two builds of a program apart: its GNU build id, or a hash of its code when the linker left none. Nodes of a job
// compare it when they join, because a job of two different builds fails in ways that nobody can explain.
#pragma once

#include <string>

namespace weft::runtime {

// Of the running program, in hexadecimal. Never empty; the same for every run of the same file on every host.
std::string build_id();

}  // namespace weft::runtime
