#include "join/pmix_library.h"

#include <dlfcn.h>

namespace weft::runtime {
namespace {

constexpr const char* places[] = {
    "libpmix.so.2",
    "libpmix.so",
    "/usr/lib/x86_64-linux-gnu/pmix2/lib/libpmix.so.2",
    "/usr/lib/aarch64-linux-gnu/pmix2/lib/libpmix.so.2",
};

template <typename Function>
bool find(void* library, const char* name, Function& into) {
  into = reinterpret_cast<Function>(::dlsym(library, name));
  return into != nullptr;
}

bool find_all(void* library, pmix_library& pmix) {
  return find(library, "PMIx_Init", pmix.init) && find(library, "PMIx_Finalize", pmix.finalize) &&
         find(library, "PMIx_Abort", pmix.abort) && find(library, "PMIx_Put", pmix.put) &&
         find(library, "PMIx_Commit", pmix.commit) && find(library, "PMIx_Fence_nb", pmix.fence) &&
         find(library, "PMIx_Get", pmix.get) && find(library, "PMIx_Register_event_handler", pmix.register_event_handler) &&
         find(library, "PMIx_Error_string", pmix.error_string);
}

std::string path_of(void* symbol) {
  Dl_info about;
  return ::dladdr(symbol, &about) != 0 && about.dli_fname != nullptr ? about.dli_fname : "libpmix";
}

}  // namespace

result<pmix_library> open_pmix() {
  for (const char* place : places) {
    void* library = ::dlopen(place, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library == nullptr) continue;
    pmix_library pmix;
    if (!find_all(library, pmix)) continue;
    pmix.path = path_of(reinterpret_cast<void*>(pmix.init));
    return pmix;
  }
  return {errc::unavailable, "libpmix was not found; install it with 'apt-get install libpmix2', or start the job with 'weft run'"};
}

}  // namespace weft::runtime
