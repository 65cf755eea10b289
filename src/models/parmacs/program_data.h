// The program's own writable data (.data and .bss): what a fork would have copied, and what CREATE copies to another node.
//
// Not part of it, though the linker puts them side by side: weft's own variables (the library is linked so that these have sections of
// their own: src/CMakeLists.txt), what the loader has filled in for this process alone (the addresses of other libraries' functions), and
// variables of the C library that the linker has moved into the program (stdout, optarg and the like).
//
// The program lies at the same address on every node (same_addresses.h), so pointers in the data mean the same there.
//
// An image is a list of the parts that are not zero, and then these parts one after another.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <weft/port.h>

namespace weft::parmacs {

// Where the program lies, and where it finds the C library.
struct addresses {
  const void* program;
  const void* library;
};
addresses own_addresses() noexcept;

class program_data {
 public:
  struct part {
    std::byte* first;
    std::size_t size;
  };

  // Of the running program. `libraries_differ`: not all nodes have the C library at the same address, so words of the program that
  // the loader has set to addresses of other libraries are left out as well.
  static program_data find(bool libraries_differ);

  std::span<const part> parts() const noexcept { return parts_; }

  // An image of the data as they are now, of at most most_bytes(); pages of zeros cost nothing. `into` is all zero before.
  std::size_t most_bytes() const noexcept;
  void pack(std::byte* into) const;

  // Makes the data of this node those of the image in `window` of `node`. Nothing of the program may run meanwhile.
  status unpack(port& p, node_id node, const window& image) const;

 private:
  std::vector<part> parts_;  // ascending
};

}  // namespace weft::parmacs
