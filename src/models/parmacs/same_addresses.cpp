#include "models/parmacs/same_addresses.h"

#include <cstdlib>

#include <sys/auxv.h>
#include <sys/personality.h>
#include <unistd.h>

#include "base/text.h"
#include "models/parmacs/program_data.h"
#include "space/ending.h"
#include "join/launched.h"
#include "join/pmix_bootstrap.h"

namespace weft::parmacs {

namespace {

constexpr const char* started_anew = "WEFT_PARMACS_STARTED_ANEW";  // so that it happens once, whatever the kernel makes of the wish

}  // namespace

void start_at_fixed_address(char** arguments) {
  const bool again = std::getenv(started_anew) != nullptr;
  ::unsetenv(started_anew);
  const bool alone = std::getenv(runtime::control_variable) == nullptr && !runtime::pmix_announced();
  const int now = ::personality(0xffffffff);
  if (alone || again || now == -1 || (now & ADDR_NO_RANDOMIZE) != 0) return;
  if (::personality(static_cast<unsigned long>(now) | ADDR_NO_RANDOMIZE) == -1) return;
  ::setenv(started_anew, "1", 1);
  ::execv(reinterpret_cast<const char*>(::getauxval(AT_EXECFN)), arguments);
  ::unsetenv(started_anew);  // it could not be: compare_addresses will tell whether that matters
}

bool compare_addresses(job& with) {
  const auto all = with.exchange_values(own_addresses());
  bool differ = false;
  for (node_id n = 0; n < with.nodes(); ++n) {
    if (all[n].program != all[0].program)
      runtime::end_with(
          errc::unavailable,
          base::format("the program lies at %p on node 0 and at %p on node %u, so pointers cannot be shared; this machine "
                       "does not let programs choose their address: link the program with -no-pie",
                       all[0].program, all[n].program, n));
    differ = differ || all[n].library != all[0].library;
  }
  return differ;
}

}  // namespace weft::parmacs
