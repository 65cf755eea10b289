// Simulated nodes with weft's own shared memory on each: the production space, protocol, locks, barriers and message port; only the
// page engine and the network's transport are simulated.
//
// After a failure the threads are left where they are, and everything with them: whoever goes on afterwards should be another process.
#pragma once

#include <algorithm>
#include <cctype>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "dst/coherence/scheduler.h"
#include "dst/coherence/seeded_engine.h"
#include "dst/coherence/seeded_port.h"
#include "space/software_space.h"
#include "sim/machine/exchanges.h"

namespace dst {

// The protocols under test: adding one is adding a line.
struct protocol_under_test {
  const char* name;
  bool tells_holders_only;     // whether write notices go to nodes with copies alone
  bool needs_mapping = false;  // of other nodes' memory
};
inline constexpr protocol_under_test protocols[] = {
    {"hlrc", false},
    {"auto", false},
    {"hlrc-au", false},
    {"aurc", false},
    {"hlrc-moving", false},
    {"hlrc-update", false},
    {"cashmere:copied", true},
    {"cashmere:in-place", true, true},
    {"cashmere:immediate", true},
    {"cashmere:unsafe=1", true},
    {"cashmere:immediate+unsafe=2", true},
    {"lrc", false},
};
// With no other characters than those of identifiers.
inline std::string test_name(const protocol_under_test& of) {
  std::string name = of.name;
  std::ranges::replace_if(
      name, [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return name;
}
inline const protocol_under_test& find_protocol(const std::string& name) {
  return *std::find_if(std::begin(protocols), std::end(protocols), [&](const auto& p) { return name == p.name; });
}

struct cluster_options {
  std::string protocol;
  node_id nodes = 2;
  network_style network = network_style::messages;
  std::size_t room = 64;  // messages in a channel
  bool records_writes = false;
  double forgets = 0;
  double naps = 0;  // chance that a thread is held up where a page changes its state
  double late = 0;  // chance that a thread is held up before it does something at another node
  weft::dsm::page_id pages = 64;
  std::size_t protocol_memory = weft::runtime::default_protocol_memory;
  std::uint64_t seed = 1;

  std::string text() const;
};

class cluster {
 public:
  class node {
   public:
    node_id id() const noexcept { return id_; }
    weft::runtime::software_space& space() { return *space_; }

    // Accesses of the program. They are cut where pages end and into pieces of at most `longest`, and others may go on between the
    // pieces; `piece` gets every piece as it is in memory at that moment.
    using piece = std::function<void(std::byte* here, std::size_t at, std::size_t size)>;
    void access(const std::byte* address, std::size_t size, bool write, const piece& visit, std::size_t longest = 64);

    // The bytes of a page as the program would find them now, or null if they are not there.
    const std::byte* look(weft::dsm::page_id p) const { return engine_->look(p); }

   private:
    friend class cluster;
    node_id id_ = 0;
    scheduler* time_ = nullptr;
    sim_engine* engine_ = nullptr;  // the space's
    std::unique_ptr<weft::runtime::software_space> space_;
  };

  cluster(const cluster_options& o, chooser& by);
  ~cluster();

  // Runs `main` on one thread of every node, once the shared memory is there; returns when all threads have ended, or at the first
  // failure.
  void run(const std::function<void(node&)>& main);

  // Another thread of a node.
  void start(node& on, std::string name, std::function<void()> body);

  scheduler& time() { return state_->time; }
  node& at(node_id n) { return *state_->nodes[n]; }
  node_id nodes() const { return static_cast<node_id>(state_->nodes.size()); }

  // Where messages can be held up, and are counted.
  sim_network& network() { return state_->network; }

  // An object of synchronisation, the same on all nodes.
  weft::sync_object& object(std::size_t number);

  // All of `expected` threads meet here, outside of the shared memory; the last one does something first.
  struct meeting {
    std::size_t arrived = 0, generation = 0;
  };
  void meet(meeting& where, std::size_t expected, const char* what, const std::function<void()>& last = nullptr);

 private:
  struct state {
    state(const cluster_options& o, chooser& by);
    cluster_options options;
    scheduler time;
    sim_network network;
    std::vector<std::unique_ptr<node>> nodes;
    weft::sim::exchanges exchanges;
    std::vector<std::unique_ptr<weft::sync_object>> objects;
    weft::base::random random;
  };

  class chore_starter;

  void build(node& n);
  void between_changes();  // of pages' states: another thread may go on
  std::vector<std::vector<std::byte>> exchange(node& n, weft::bytes mine);

  std::unique_ptr<state> state_;
};

}  // namespace dst
