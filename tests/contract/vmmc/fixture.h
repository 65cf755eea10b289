// What the tests of the communication layer share: the fabrics and sizes that every operation is tried on, and a node's vmmc.
#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include <weft/active.h>
#include <weft/queue.h>
#include <weft/vmmc.h>

#include "base/random.h"
#include "contract/cluster.h"

namespace weft::test {

using namespace std::chrono_literals;
using base::bytes_of;
using fabric::fabric;

#define OK(expression)                                 \
  do {                                                 \
    auto&& outcome_ = (expression);                    \
    ASSERT_TRUE(outcome_.ok()) << outcome_.sentence(); \
  } while (false)

inline std::vector<setup> vmmc_setups() {
  std::vector<setup> all;
  for (node_id nodes : {1u, 2u, 4u}) {
    all.push_back({"shm", "", "", nodes, {}});
    all.push_back({"udp", "", "", nodes, {}});
    if (nodes > 1) all.push_back({"udp", "", "loss=5%", nodes, {}});
    all.push_back({"ofi", "tcp;ofi_rxm", "", nodes, {}});
    all.push_back({"ofi", "shm", "", nodes, {}});
  }
  return all;
}

class vmmc_contract : public ::testing::TestWithParam<setup> {
 protected:
  node_id nodes() const { return GetParam().nodes; }
  bool impaired() const { return !GetParam().impair.empty(); }
  bool plain_pair() const { return nodes() == 2 && !impaired() && GetParam().fabric != "ofi"; }
  // Fewer rounds where the network is bad or the cores are crowded.
  int rounds(int many) const { return std::max(4, many / (impaired() ? 8 : 1) / (nodes() > 2 ? 4 : 1)); }
};

inline exchange exchange_of(fabric& port, meeting& where) {
  return [&port, &where](bytes mine) { return where.gather_bytes(port.self(), mine); };
}

// A node's part of a test. Everything that it made goes after all nodes have come to the end of the test's body.
struct node_under_test {
  fabric& port;
  meeting& where;
  weft::vmmc vmmc;

  node_under_test(fabric& p, meeting& w) : port(p), where(w), vmmc(p, exchange_of(p, w)) {}
  node_id next() const { return (port.self() + 1) % port.nodes(); }

  memory allocate(std::size_t size) {
    auto m = port.allocate(size);
    if (!m.ok()) ADD_FAILURE() << m.sentence();
    return *m;
  }
  exported give(std::string_view name, const memory& m, export_options options = {}) {
    auto e = vmmc.export_memory(name, m, std::move(options));
    if (!e.ok()) ADD_FAILURE() << e.sentence();
    return std::move(*e);
  }
  imported take(node_id node, std::string_view name, import_options options = {}) {
    auto i = vmmc.import_memory(node, name, options);
    if (!i.ok()) ADD_FAILURE() << i.sentence();
    return *i;
  }
};

// To be declared after everything that others may still use.
struct leave_together {
  meeting& where;
  ~leave_together() { where.barrier(); }
};

inline word word_at(const memory& m, std::size_t offset) {
  return std::atomic_ref(*reinterpret_cast<word*>(m.base + offset)).load(std::memory_order_acquire);
}

#define ON_EVERY_FABRIC(suite) \
  INSTANTIATE_TEST_SUITE_P(fabrics, suite, ::testing::ValuesIn(vmmc_setups()), [](const auto& i) { return i.param.label(); })

}  // namespace weft::test
