// The choice of a provider: the one that was asked for, or the best for this job; and of the network address where there are several.
#pragma once

#include "fabric/ofi/library.h"
#include "fabric/ofi/plan.h"

namespace weft::fabric::ofi {

struct selection {
  info_ptr info;
  ofi::plan plan;
};

result<selection> select_provider(const library& l, const fabric_options& options);

}  // namespace weft::fabric::ofi
