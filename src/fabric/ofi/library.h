// libfabric, opened at run time: weft is built against its headers only, so that a program that uses weft starts on machines without
// it. Only a handful of functions are exported by the library; everything else is reached through the tables of the objects it makes.
//
// Thread-safe. The library is opened once and never closed: providers have threads and exit handlers of their own.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <rdma/fabric.h>

#include <weft/status.h>

namespace weft::fabric::ofi {

struct library {
  std::string path;  // where it was found
  decltype(&::fi_getinfo) getinfo = nullptr;
  decltype(&::fi_freeinfo) freeinfo = nullptr;
  decltype(&::fi_dupinfo) dupinfo = nullptr;
  decltype(&::fi_fabric) fabric = nullptr;
  decltype(&::fi_strerror) strerror = nullptr;
  decltype(&::fi_version) version = nullptr;

  // The interface version to ask for: what both the headers and the library know.
  std::uint32_t common_version() const;

  // What a negative return value of libfabric means.
  std::string explain(std::int64_t code) const;
};

// Opens libfabric, or says how to get it. Its registration cache is turned off unless the user has set it: it watches memory through
// userfaultfd, which is weft's own instrument.
result<const library*> load_library();

struct free_info {
  const library* from = nullptr;
  void operator()(fi_info* info) const { from->freeinfo(info); }
};
using info_ptr = std::unique_ptr<fi_info, free_info>;

// What `weft doctor` shows of a provider.
struct provider_description {
  std::string name;           // "tcp;ofi_rxm"
  std::string endpoint_type;  // "reliable datagrams", "datagrams", "connections"
  std::string abilities;      // "messages, remote memory, atomics"
  std::string domains;        // "eth0, lo"
};

// The providers that work on this machine; empty without libfabric.
std::vector<provider_description> list_providers();

}  // namespace weft::fabric::ofi
