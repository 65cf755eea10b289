// Networks of today by name, and the node that they connect: numbers for the simulated machine, each with where it comes from.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace weft::sim {

struct named_network {
  struct number {
    const char* parameter;
    std::uint64_t value;
    const char* source;
  };
  const char* name;
  const char* what;
  std::span<const number> link;
};

std::span<const named_network> networks();
const named_network* find_network(std::string_view name) noexcept;  // null: there is none

// What all of these networks connect: a core of 3 GHz and its memory.
std::span<const named_network::number> node_of_today();

}  // namespace weft::sim
