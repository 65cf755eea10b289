// The list that a new fabric's name is added to: every setup passes every contract test.
#pragma once

#include <vector>

#include "contract/cluster.h"

namespace weft::test {

inline std::vector<setup> fabrics_under_test() {
  std::vector<setup> all;
  for (node_id nodes : {1u, 2u, 4u, 8u}) {
    all.push_back({"shm", "", "", nodes});
    all.push_back({"udp", "", "", nodes});
    all.push_back({"ofi", "tcp;ofi_rxm", "", nodes});
    all.push_back({"ofi", "shm", "", nodes});
    for (const char* impair : {"loss=1%", "loss=5%", "loss=20%", "dup=5%", "reorder=10%,jitter=200us", "corrupt=1%", every_fault})
      if (nodes > 1) all.push_back({"udp", "", impair, nodes});
  }
  // What other providers have and these have not, and the other way round: so that each way through the ofi fabric is gone.
  for (const char* narrowed : {"no-rma", "all-rma", "all-rma,no-order,no-inject,register-local,one-lock", "no-wait-fd"})
    all.push_back({"ofi", "tcp;ofi_rxm", "", 2, {}, narrowed});
  return all;
}

}  // namespace weft::test
