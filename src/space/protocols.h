// The protocols that there are, by name: what a launch may ask for, and how a node's protocol is made.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "dsm/homes.h"
#include "dsm/page_table.h"
#include "dsm/protocol.h"
#include "protocols/cashmere/settings.h"

namespace weft::runtime {

struct protocol_parts {
  weft::port& port;
  dsm::pages& pages;
  dsm::page_table& table;
  dsm::homes* homes;          // null: the protocol has none
  std::size_t memory;         // bytes that it may keep; for lrc
  bool first_copies_fetched;  // for lrc
  const protocols::cashmere_settings& variant;
  const dsm::exchange& with_all;
};

using made_protocol = result<std::unique_ptr<dsm::protocol>>;

struct known_protocol {
  const char* name;
  made_protocol (*make)(const protocol_parts& of);  // collective; null: shared frames, where there is nothing to make
  bool has_homes = true;                            // without, placements mean nothing
  bool takes_reports = false;                       // of the program's stores, where it was built to make them
  bool in_place = false;                            // uses pages in place where its variant says so
};

// What a launch asks for: a name, and after a colon the words of a variant.
struct chosen_protocol {
  const known_protocol* known;
  protocols::cashmere_settings variant;

  bool uses_in_place(const weft::port& p) const noexcept { return known->in_place && variant.uses_in_place(p); }
};

std::span<const known_protocol> known_protocols();

inline constexpr const char* not_in_place =
    "pages can be used in place on the fabric shm alone, where other nodes' memory is mapped; use --protocol cashmere:copied";

// Fails in a sentence that says what there is.
result<chosen_protocol> choose_protocol(const std::string& text);

// "direct, cashmere or hlrc": all of them, or those that work across hosts.
std::string protocol_names(bool across_hosts);

}  // namespace weft::runtime
