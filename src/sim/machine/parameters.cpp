#include "sim/machine/parameters.h"

#include <bit>

#include "base/text.h"

namespace weft::sim {

namespace {

using p = parameters;
constexpr const char* table = "Cashmere, Table 1";
constexpr const char* open = "not in the paper";

constexpr p::description descriptions[] = {
    {"tlb-entries", &p::tlb_entries, "entries", "size of the TLB", table},
    {"tlb-fill", &p::tlb_fill, "cycles", "a TLB miss", table},
    {"ecc-interrupt", &p::ecc_interrupt, "cycles", "a cache miss that software has to serve", table},
    {"page-fault", &p::page_fault, "cycles", "the trap of a page fault", table},
    {"directory", &p::directory, "cycles", "changing a directory entry", table},
    {"memory-setup", &p::memory_setup, "cycles", "before a memory module gives its first bytes", table},
    {"memory-bandwidth", &p::memory_bandwidth, "bytes a cycle", "of a memory module and of the bus", table},
    {"cache-bytes", &p::cache_bytes, "bytes", "cache of a processor", table},
    {"line-bytes", &p::line_bytes, "bytes", "a cache line", table},
    {"bandwidth", &p::bandwidth, "MB/s", "of a network link, each way", "Cashmere, Table 1: 16 bits; 4.3: 400Mbytes/sec"},
    {"messaging", &p::messaging, "cycles", "software at each end of a message", table},
    {"switch-latency", &p::switch_latency, "cycles", "of the switch; a part of latency", table},
    {"wire-latency", &p::wire_latency, "cycles", "of a wire; two are a part of latency", table},
    {"twinning", &p::twinning, "cycles a word", "copying a page before it is written", table},
    {"diffing", &p::diffing, "cycles a word", "making or applying a diff", table},
    {"notice", &p::notice, "cycles a notice", "list processing", table},
    {"doubled-write", &p::doubled_write, "cycles a write", "doubling in software; 12 with a message interface", table},
    {"latency", &p::latency, "cycles", "of the network, interface to interface", "Cashmere 3: 200 cycles each way"},
    {"megahertz", &p::megahertz, "MHz", "the processors' clock", "Cashmere 3: a 200Mhz processor"},
    {"interrupt", &p::interrupt, "cycles", "a message that interrupts a processor", "not in the paper; as Table 1's other traps"},
    {"page-fault-beside", &p::page_fault_beside, "cycles",
     "the trap of a page fault if the page before it may be used so already; 0: as any other",
     "not in the paper; on Linux mprotect takes less there"},
    {"send-call", &p::send_call, "cycles", "a system call for every message that is sent",
     "SHRIMP 4.3: user-level sends have none"},
    {"arrival-interrupt", &p::arrival_interrupt, "cycles", "an interrupt for every message that arrives",
     "SHRIMP 4.4: only where it is asked for"},
    {"send-queue", &p::send_queue, "messages", "by software that an interface takes before the first has left; 0: any number",
     "SHRIMP 4.5.3: 1 or 2"},
    {"initiation", &p::initiation, "cycles", "starting a deliberate update that the interface performs",
     "SHRIMP 4.3: less than 2 us"},
    {"sends-wait", &p::sends_wait, "0 or 1", "whether a send returns only when all of it has left", "SHRIMP 4.5.3: it does"},
    {"shared-bus", &p::shared_bus, "0 or 1", "whether processor and interface share the bus cycle by cycle; 0: a transfer holds it",
     "SHRIMP 2.1: they do not"},
    {"outgoing-fifo", &p::outgoing_fifo, "bytes", "of automatic updates in an interface; 0: they wait in the write buffer",
     "SHRIMP 4.5.2: 32K"},
    {"update-bandwidth", &p::update_bandwidth, "MB/s", "at which writes leave an interface that forwards them; 0: as all else",
     "SHRIMP 2.1: links of 200 Mbytes/second, and only what is read from memory or written there goes over EISA"},
    {"combining-time", &p::combining_time, "cycles", "that a packet of automatic updates waits for another store",
     "SHRIMP 4.5.1: a timer"},
    {"cache-ways", &p::cache_ways, "lines", "associativity of the cache", open},
    {"write-buffer", &p::write_buffer, "writes", "under way before a processor waits", open},
    {"merge-buffer", &p::merge_buffer, "lines", "in the merge buffer ('the last few writes')", open},
    {"header-bytes", &p::header_bytes, "bytes", "of a message besides its contents", open},
    {"barrier-fan-in", &p::barrier_fan_in, "nodes", "whose notices a node gathers at a barrier; 0: node 0 gathers all",
     "Cashmere 4.1: a central barrier manager"},
    {"managers-in-turn", &p::managers_in_turn, "0 or 1",
     "1: all nodes manage locks and flags in turn; 0: who makes them, as in the runtime", "TreadMarks; not in the paper"},
    {"told-once", &p::told_once, "0 or 1",
     "1: lrc tells of a written page once for each diff; 0: at every release after a write, as in the runtime",
     "TreadMarks: 1; the paper can be read both ways"},
    {"first-copies", &p::first_copies, "0 or 1",
     "1: lrc sends a page to who has never had it; 0: all begin with zeroes, as in the runtime", "TreadMarks: 1; not in the paper"},
    {"fetch-ahead", &p::fetch_ahead, "pages", "that a fault may fetch or open at once", "Cashmere 2.2: the one that is used"},
    {"diff-grain", &p::diff_grain, "bytes", "that a diff tells apart: 4, or 1 as in the runtime", "Cashmere, Table 1: words"},
    {"slack", &p::slack, "cycles", "a processor may be ahead of others while its cache serves it", "the simulator's own"},
    {"memory-pages", &p::memory_pages, "pages", "of shared memory", "the simulator's own"},
};

}  // namespace

std::span<const parameters::description> parameters::all() {
  return descriptions;
}

bool parameters::set(const std::string& name, std::uint64_t value) {
  for (const auto& d : descriptions)
    if (name == d.name) {
      this->*d.value = value;
      return true;
    }
  return false;
}

status parameters::check() const {
  for (const auto& d : descriptions)
    if (this->*d.value > std::uint64_t{1} << 32)
      return {errc::invalid_argument, base::format("--%s is larger than 2^32 %s", d.name, d.unit)};
  const auto power = [](std::uint64_t v) { return std::has_single_bit(v); };
  if (!power(line_bytes) || line_bytes < 8 || line_bytes > 256)
    return {errc::invalid_argument, "--line-bytes must be a power of two from 8 to 256"};
  if (!power(cache_bytes)) return {errc::invalid_argument, "--cache-bytes must be a power of two"};
  if (!power(cache_ways) || cache_ways * line_bytes > cache_bytes)
    return {errc::invalid_argument, "--cache-ways must be a power of two, and so many lines must fit into the cache"};
  for (const auto value :
       {&parameters::tlb_entries, &parameters::memory_bandwidth, &parameters::bandwidth, &parameters::megahertz,
        &parameters::write_buffer, &parameters::merge_buffer, &parameters::fetch_ahead, &parameters::memory_pages})
    if (this->*value == 0)
      for (const auto& d : descriptions)
        if (d.value == value) return {errc::invalid_argument, base::format("--%s must not be 0", d.name)};
  if (diff_grain != 1 && diff_grain != 4) return {errc::invalid_argument, "--diff-grain must be 1 or 4"};
  if (tlb_entries > 65535) return {errc::invalid_argument, "--tlb-entries must be at most 65535"};
  return {};
}

}  // namespace weft::sim
