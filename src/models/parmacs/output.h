// Output in the order in which the program made it: what a worker printed before it let another go on comes first.
//
// Each node's output goes through a pipe of its own, and whoever reads the pipes cannot tell which was written to first. So a node
// that lets another go on passes on what it has printed, and waits until that has been read.
#pragma once

namespace weft::parmacs {

// Before an operation that lets others go on. Free if nothing was printed since the last time, except what the program has passed on
// itself (fflush): only show_all_output looks for that, at the price of a system call.
void show_output() noexcept;
void show_all_output() noexcept;

}  // namespace weft::parmacs
