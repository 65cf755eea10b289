#include "fabric/ofi/library.h"

#include <cstdlib>
#include <mutex>

#include <dlfcn.h>

#include <rdma/fi_endpoint.h>

#include "base/text.h"

namespace weft::fabric::ofi {

namespace {

template <typename Function>
bool find(void* handle, const char* name, Function& into) {
  into = reinterpret_cast<Function>(::dlsym(handle, name));
  return into != nullptr;
}

bool find_all(void* handle, library& l) {
  return find(handle, "fi_getinfo", l.getinfo) && find(handle, "fi_freeinfo", l.freeinfo) &&
         find(handle, "fi_dupinfo", l.dupinfo) && find(handle, "fi_fabric", l.fabric) && find(handle, "fi_strerror", l.strerror) &&
         find(handle, "fi_version", l.version);
}

// The registration cache would compete for userfaultfd. Set before the library reads its settings, and never over the user's.
void disable_registration_cache() {
  ::setenv("FI_MR_CACHE_MONITOR", "disabled", 0);
  ::setenv("FI_MR_CACHE_MAX_COUNT", "0", 0);
}

struct loaded {
  library found;
  std::string problem;
};

loaded load() {
  loaded l;
  disable_registration_cache();
  void* handle = ::dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!handle) {
    l.problem = "libfabric.so.1 was not found; install it with: apt-get install libfabric1, or use --fabric udp";
  } else if (!find_all(handle, l.found)) {
    l.problem = "libfabric.so.1 lacks functions that weft needs; install version 1.9 or later, or use --fabric udp";
  } else {
    Dl_info about;
    l.found.path =
        ::dladdr(reinterpret_cast<void*>(l.found.getinfo), &about) != 0 && about.dli_fname ? about.dli_fname : "libfabric.so.1";
  }
  return l;
}

const char* name_of(fi_ep_type type) {
  switch (type) {
    case FI_EP_RDM: return "reliable datagrams";
    case FI_EP_DGRAM: return "datagrams";
    case FI_EP_MSG: return "connections";
    default: return "other";
  }
}

std::string abilities_of(std::uint64_t caps) {
  constexpr struct {
    std::uint64_t bit;
    const char* name;
  } known[] = {{FI_MSG, "messages"},
               {FI_TAGGED, "tagged messages"},
               {FI_RMA, "remote memory"},
               {FI_ATOMIC, "atomics"},
               {FI_MULTICAST, "multicast"}};
  std::string text;
  for (const auto& k : known)
    if (caps & k.bit) text += (text.empty() ? "" : ", ") + std::string(k.name);
  return text;
}

void add(std::vector<provider_description>& all, const fi_info& info) {
  const std::string name = info.fabric_attr->prov_name, type = name_of(info.ep_attr->type), abilities = abilities_of(info.caps);
  const std::string domain = info.domain_attr->name ? info.domain_attr->name : "";
  for (auto& known : all) {
    if (known.name != name || known.endpoint_type != type || known.abilities != abilities) continue;
    if ((", " + known.domains + ",").find(", " + domain + ",") == std::string::npos) known.domains += ", " + domain;
    return;
  }
  all.push_back({name, type, abilities, domain});
}

}  // namespace

std::uint32_t library::common_version() const {
  const std::uint32_t built = FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION), here = version();
  return built < here ? built : here;
}

std::string library::explain(std::int64_t code) const {
  return strerror(static_cast<int>(code < 0 ? -code : code));
}

result<const library*> load_library() {
  static const loaded once = load();  // the library itself is per process, so this is
  if (!once.problem.empty()) return {errc::unavailable, once.problem};
  return &once.found;
}

std::vector<provider_description> list_providers() {
  std::vector<provider_description> all;
  auto l = load_library();
  if (!l) return all;
  fi_info* found = nullptr;
  if ((*l)->getinfo((*l)->common_version(), nullptr, nullptr, 0, nullptr, &found) != 0) return all;
  const info_ptr owner(found, free_info{*l});
  for (const fi_info* i = found; i; i = i->next) add(all, *i);
  return all;
}

}  // namespace weft::fabric::ofi
