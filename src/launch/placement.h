// What the user says about where nodes run, taken apart: lists of hosts with slots, launcher commands, and which node goes where.
// Pure functions; what is wrong with an input is one sentence with the fix.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <weft/status.h>

namespace weft::launch {

struct host_slots {
  std::string name;
  std::uint32_t slots = 1;
  bool operator==(const host_slots&) const = default;
};

// "4" between 1 and most_nodes.
result<std::uint32_t> parse_node_count(std::string_view text);

// "a,b:2,c". A host that is named twice has the slots of both.
result<std::vector<host_slots>> parse_hosts(std::string_view text);

std::uint32_t total_slots(const std::vector<host_slots>& hosts);

// The host of every node: hosts are filled in order, by their slots, and once more from the start when there are more nodes than
// slots.
std::vector<std::uint32_t> place_nodes(std::uint32_t nodes, const std::vector<host_slots>& hosts);

// Splits a command into words as a shell would: at blanks, with '...', "..." and backslash honoured, nothing expanded.
result<std::vector<std::string>> split_words(std::string_view command);

// The words of a launcher command, in which {host} must stand for the host.
result<std::vector<std::string>> parse_launcher(std::string_view command);
std::vector<std::string> for_host(std::vector<std::string> launcher, const std::string& host);

// In quotes if a shell would take it for anything but itself.
std::string quote_for_shell(const std::string& word);

}  // namespace weft::launch
