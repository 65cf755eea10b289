// A run as its statistics tell of it: the JSON document of docs/statistics.md, read and checked.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <string>
#include <vector>

#include <weft/status.h>

namespace weft::cli::report {

// In the order of the document's epochs.
inline constexpr std::array time_parts = {"compute", "page_fetch", "lock", "barrier", "handler", "protocol"};
using times = std::array<double, time_parts.size()>;

inline constexpr std::size_t page_bytes = 4096;
using byte_set = std::bitset<page_bytes>;

struct page_use {  // of one page by one node
  std::uint64_t page = 0;
  std::uint32_t node = 0;
  bool home = false;
  std::uint64_t read_faults = 0, write_faults = 0, fetches = 0, writes = 0, changed_bytes = 0;
  byte_set written, by_others;
};

struct lock_use {
  std::string name, place;
  double waits = 0, waited = 0;
};

struct node_record {
  double wall = 0;
  times spent{};
  double communication_thread = 0;
  std::vector<std::pair<std::string, double>> counts;  // by name
  std::vector<double> fetched, changed;                // bytes, by node
  std::vector<times> epochs;
  std::vector<lock_use> locks;
  std::vector<page_use> pages;
  double pages_left_out = 0;
};

struct allocation {
  std::uint64_t offset = 0, bytes = 0, blocks = 0;
  std::uint32_t node = 0;
  std::vector<std::string> calls;  // "file+0x123", innermost first
  std::string site;                // for people: filled in by whoever can
};

struct run_record {
  std::string file, command, fabric, protocol, engine;
  double wall = 0;
  times spent{};
  double watching = 0;  // seconds of the same threads, for these records
  double barriers_each = 1;
  std::vector<node_record> nodes;
  std::vector<allocation> allocations;

  std::string setting() const { return protocol + (protocol == "direct" ? "" : " on " + fabric); }
};

// One sentence about what makes it unreadable.
result<run_record> read_run(const std::string& file);

}  // namespace weft::cli::report
