#include "sim/machine/networks.h"

namespace weft::sim {

namespace {

using number = named_network::number;

#define MEASURED "measured by weft's authors on a virtual machine with Linux 6.18, 2026"

constexpr number today[] = {
    {"megahertz", 3000, "a server core's usual clock"},
    {"cache-bytes", 1 << 20, "the second-level cache of a server core"},
    {"cache-ways", 16, "as above"},
    {"tlb-entries", 1536, "a server core's second level"},
    {"tlb-fill", 30, "a walk whose tables are in the cache"},
    {"memory-setup", 270, "90 ns: Li et al., Pond, ASPLOS 2023, local memory"},
    {"memory-bandwidth", 8, "24 GB/s: what one core draws"},
    {"page-fault", 8400, "2.8 us for SIGSEGV, mprotect and return, " MEASURED},
    {"interrupt", 8250, "half of a futex round trip of 5.5 us, " MEASURED},
    {"ecc-interrupt", 8400, "taken as a page fault"},
    {"twinning", 2, "0.35 to 0.7 us for 4 KiB, " MEASURED},
    {"diffing", 2, "0.6 us for comparing 4 KiB, " MEASURED},
    {"directory", 160, "instructions, as in Cashmere"},
};

constexpr number infiniband_100[] = {
    {"latency", 3000,
     "1 us: half of a one-sided read's 2 us, Kalia et al., Design Guidelines for High Performance RDMA Systems, ATC 2016"},
    {"bandwidth", 12500, "100 Gb/s, the link's rate"},
    {"messaging", 600, "0.2 us: posting and polling, as above"},
};
constexpr number infiniband_400[] = {
    {"latency", 3000, "as 100 Gb/s: the link is faster, not shorter"},
    {"bandwidth", 50000, "400 Gb/s, the link's rate"},
    {"messaging", 600, "as 100 Gb/s"},
};
constexpr number efa[] = {
    {"latency", 46500, "15.5 us between MPI programs: AWS, announcement of EFA, April 2019"},
    {"bandwidth", 12500, "100 Gb/s: as above"},
    {"messaging", 600, "taken as InfiniBand's"},
};
constexpr number ethernet_25[] = {
    {"latency", 15000, "5 us: taken as cards, cables and a switch"},
    {"bandwidth", 3125, "25 Gb/s, IEEE 802.3by"},
    {"messaging", 6000, "2 us: a quarter of a UDP round trip on loopback, " MEASURED},
};
constexpr number cxl[] = {
    {"latency", 135, "45 ns: half of what a pool adds to a load, Li et al., Pond, ASPLOS 2023"},
    {"bandwidth", 31500, "PCIe 5.0, eight lanes"},
    {"messaging", 60, "20 ns: a store and a load of the other side"},
};

constexpr named_network all[] = {
    {"infiniband-100", "InfiniBand EDR, 100 Gb/s", infiniband_100},
    {"infiniband-400", "InfiniBand NDR, 400 Gb/s", infiniband_400},
    {"efa", "Elastic Fabric Adapter, 100 Gb/s", efa},
    {"ethernet-25", "25 Gb/s Ethernet with sockets", ethernet_25},
    {"cxl", "memory behind CXL", cxl},
};

}  // namespace

std::span<const named_network> networks() {
  return all;
}

std::span<const number> node_of_today() {
  return today;
}

const named_network* find_network(std::string_view name) noexcept {
  for (const auto& n : all)
    if (name == n.name) return &n;
  return nullptr;
}

}  // namespace weft::sim
