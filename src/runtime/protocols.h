// The protocols that there are, by name: what a launch may ask for, and how a node's protocol is made.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "dsm/homes.h"
#include "dsm/page_table.h"
#include "dsm/protocol.h"

namespace weft::runtime {

struct protocol_parts {
  weft::port& port;
  dsm::pages& pages;
  dsm::page_table& table;
  dsm::homes* homes;    // null: the protocol has none
  std::size_t memory;  // bytes that it may keep; for lrc
  const dsm::exchange& with_all;
};

using made_protocol = result<std::unique_ptr<dsm::protocol>>;

struct known_protocol {
  const char* name;
  made_protocol (*make)(const protocol_parts& of);  // collective; null: shared frames, where there is nothing to make
  bool has_homes = true;                            // without, placements mean nothing
};

std::span<const known_protocol> known_protocols();
const known_protocol* find_protocol(const std::string& name);

// "direct, cashmere or hlrc": all of them, or those that work across hosts.
std::string protocol_names(bool across_hosts);

}  // namespace weft::runtime
