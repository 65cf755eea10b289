// One simulated run: 2 to 8 nodes with a link between every two, every choice made by the seed. Faults for a while, then none; then
// everything that was pushed must have been delivered, once and in order, within a bounded simulated time.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "dst/network.h"
#include "dst/plant.h"
#include "dst/records.h"
#include "reliable/link.h"

namespace dst {

namespace wr = weft::reliable;

// What the seed decided.
struct plan {
  weft::node_id nodes = 2;
  wr::link_options link;
  network_options net;
  nanoseconds fault_time = 0;
  std::uint64_t records_each = 0;  // a lane and an ordered pair, during the faults
  double pause_chance = 0, refuse_chance = 0, mtu_chance = 0, discard_chance = 0, cut_chance = 0;  // each time a node wakes
  double lazy_chance = 0;  // that a consumer leaves what has just arrived for later
  bool restart = false;    // one node loses its state at the end

  static plan from(std::uint64_t seed, const wr::seal& sealer, plant planted);
  std::string text() const;
};

class world {
 public:
  world(std::uint64_t seed, plant planted);

  // Nothing if all went well; otherwise what did not.
  std::optional<std::string> run();

  std::uint64_t trace() const { return trace_; }  // a hash of everything that happened, and when
  std::string summary() const;
  const plan& planned() const { return plan_; }

 private:
  struct connection {
    std::unique_ptr<wr::link> link;
    std::array<record_stream, 2> outgoing, incoming;
    std::array<std::uint64_t, 2> pushed{}, popped{}, target{};
  };
  struct node {
    std::vector<connection> to;                  // by peer; the own entry is unused
    std::vector<weft::base::byte_buffer> inbox;  // what its socket holds; bounded
    nanoseconds wake_at = 0, paused_until = 0, refuses_until = 0;
  };

  // The phases.
  void faults();
  void replies_flow_while_requests_are_refused();
  void drain();
  void restart_is_noticed();

  // The machinery.
  template <typename Done>
  void simulate(nanoseconds until, Done done);
  void step(weft::node_id n);
  void wake(weft::node_id n);
  void misfortune(weft::node_id n);
  void take_inbox(weft::node_id n);
  void consume(weft::node_id n, weft::node_id from, bool all);
  void push_some(weft::node_id n);
  void transmit(weft::node_id n);
  nanoseconds next_event() const;
  void check_bounds(weft::node_id n);
  bool drained() const;
  void connect(weft::node_id n, std::uint32_t incarnation);
  void note(std::uint64_t what);
  void fail(std::string what);
  template <typename Visit>
  void for_each_connection(Visit visit);

  std::uint64_t seed_;
  plant planted_;
  wr::seal sealer_;
  plan plan_;
  weft::base::random random_;
  network net_;
  std::vector<node> nodes_;
  nanoseconds now_ = 0;
  std::uint64_t steps_at_now_ = 0;
  bool faulty_ = true;
  bool refusing_ = false;  // all nodes take no requests
  std::uint64_t trace_ = 0xcbf29ce484222325u;
  std::optional<std::string> failure_;
};

}  // namespace dst
