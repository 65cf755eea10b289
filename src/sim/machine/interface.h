// The network interfaces of Cashmere 2.3: four properties, eight combinations that make sense.
#pragma once

#include <cstdint>
#include <string_view>

namespace weft::sim {

struct interface {
  const char* name;
  bool copies_pages;     // C: a page is copied to local memory when it is first used; N: lines are fetched on demand
  bool hardware_reads;   // H: a cache miss to remote memory is served by the interface; S: by software, after an ECC fault
  bool hardware_writes;  // H: writes are forwarded by the interface; S: by instructions after each
  bool merges;           // M: a merge buffer collects writes to a line
};

inline constexpr interface interfaces[] = {
    {"NHHM", false, true, true, true},   {"CHHM", true, true, true, true},     {"NHHN", false, true, true, false},
    {"CHHN", true, true, true, false},   {"CHSN", true, true, false, false},   {"NSHM", false, false, true, true},
    {"NSHN", false, false, true, false}, {"NSSN", false, false, false, false},
};

// Null: there is none of that name.
constexpr const interface* find_interface(std::string_view name) noexcept {
  for (const interface& i : interfaces)
    if (name == i.name) return &i;
  return nullptr;
}

}  // namespace weft::sim
