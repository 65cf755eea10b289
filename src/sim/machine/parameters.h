// The simulated machine's numbers: Table 1 of the Cashmere paper, and the few that its text gives or leaves open. Each has a name, a unit
// and a source, and each is an option of `weft sim`.
//
// Times are in cycles of a 200 MHz processor (section 3: "a one usec network latency and a 200Mhz processor").
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include <weft/status.h>

namespace weft::sim {

struct parameters {
  // Table 1.
  std::uint64_t tlb_entries = 128;
  std::uint64_t tlb_fill = 100;
  std::uint64_t ecc_interrupt = 400;
  std::uint64_t page_fault = 400;
  std::uint64_t directory = 160;
  std::uint64_t memory_setup = 20;
  std::uint64_t memory_bandwidth = 2;
  std::uint64_t cache_bytes = 128 * 1024;
  std::uint64_t line_bytes = 64;
  std::uint64_t bandwidth = 400;
  std::uint64_t messaging = 150;
  std::uint64_t switch_latency = 2;
  std::uint64_t wire_latency = 1;
  std::uint64_t twinning = 5;
  std::uint64_t diffing = 7;
  std::uint64_t notice = 7;
  std::uint64_t doubled_write = 3;
  // The text.
  std::uint64_t latency = 200;
  std::uint64_t megahertz = 200;
  // Left open by the paper.
  std::uint64_t interrupt = 400;
  std::uint64_t page_fault_beside = 0;
  std::uint64_t send_call = 0;
  std::uint64_t arrival_interrupt = 0;
  std::uint64_t send_queue = 0;
  std::uint64_t initiation = 0;
  std::uint64_t sends_wait = 0;
  std::uint64_t shared_bus = 1;
  std::uint64_t outgoing_fifo = 0;
  std::uint64_t combining_time = 100;
  std::uint64_t update_bandwidth = 0;
  std::uint64_t cache_ways = 1;
  std::uint64_t write_buffer = 4;
  std::uint64_t merge_buffer = 8;
  std::uint64_t header_bytes = 16;
  std::uint64_t barrier_fan_in = 0;
  std::uint64_t managers_in_turn = 1;
  std::uint64_t told_once = 0;
  std::uint64_t first_copies = 0;
  std::uint64_t fetch_ahead = 1;
  std::uint64_t diff_grain = 4;
  std::uint64_t slack = 200;
  std::uint64_t memory_pages = 65536;

  // One of the above.
  struct description {
    const char* name;  // as an option, without dashes
    std::uint64_t parameters::*value;
    const char* unit;
    const char* what;
    const char* source;
  };
  static std::span<const description> all();

  // False: there is no such parameter.
  bool set(const std::string& name, std::uint64_t value);

  // Whether a machine can be made of them: one sentence if not.
  status check() const;

  // What a message takes from one interface to another when the network is idle, without its bytes.
  std::uint64_t network_latency() const noexcept {
    const std::uint64_t path = switch_latency + 2 * wire_latency;
    return latency > path ? latency : path;
  }
  std::uint64_t transfer(std::uint64_t bytes) const noexcept { return (bytes * megahertz + bandwidth - 1) / bandwidth; }
  std::uint64_t update_transfer(
      std::uint64_t bytes) const noexcept {  // out of a node, of what its interface has seen being written
    return update_bandwidth != 0 ? (bytes * megahertz + update_bandwidth - 1) / update_bandwidth : transfer(bytes);
  }
  std::uint64_t line_fill() const noexcept { return memory_setup + memory_transfer(line_bytes); }  // from an idle memory
  std::uint64_t memory_transfer(std::uint64_t bytes) const noexcept { return (bytes + memory_bandwidth - 1) / memory_bandwidth; }
};

}  // namespace weft::sim
