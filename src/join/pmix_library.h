// libpmix, opened at run time: weft is built against its header only, so that a program that uses weft starts on machines without
// it.
//
// The library is found by its name, or where Debian keeps it. Thread safety is that of PMIx itself: every function may be called by
// any thread.
#pragma once

#include <pmix.h>

#include <string>

#include <weft/status.h>

namespace weft::runtime {

struct pmix_library {
  std::string path;  // where it was found
  decltype(&PMIx_Init) init = nullptr;
  decltype(&PMIx_Finalize) finalize = nullptr;
  decltype(&PMIx_Abort) abort = nullptr;
  decltype(&PMIx_Put) put = nullptr;
  decltype(&PMIx_Commit) commit = nullptr;
  decltype(&PMIx_Fence_nb) fence = nullptr;
  decltype(&PMIx_Get) get = nullptr;
  decltype(&PMIx_Register_event_handler) register_event_handler = nullptr;
  decltype(&PMIx_Error_string) error_string = nullptr;
};

// Opens it and never closes it again: it has threads of its own.
result<pmix_library> open_pmix();

}  // namespace weft::runtime
