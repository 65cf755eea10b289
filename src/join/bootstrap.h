// bootstrap: how a node finds out who it is and who the others are, before there is a fabric to talk over.
//
// There are three ways to be started, and one interface for all: by `weft run` (a control socket to the agent of this host), by a
// launcher that speaks PMIx (`mpirun`, `srun`), or alone (a job of one node).
//
// Threads. who() and way() may be called by any thread. exchange(), report() and leave() may be called by any thread, but
// exchange() is a collective: all nodes call it equally often and in the same order, one call at a time. The callback of watch()
// runs on a thread of the bootstrap's own and must not call back into the bootstrap.
//
// Invariants. identity does not change after join_job(). Every wait has a limit. Once leave() has returned, no callback runs any
// more.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <weft/port.h>
#include <weft/status.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "join/control.h"

namespace weft::runtime {

// The most nodes that a job may have.
inline constexpr node_id most_nodes = 4096;

// The most bytes that all nodes together may contribute to one exchange: what fits into one control message.
inline constexpr std::size_t most_exchanged = std::size_t{15} * 1024 * 1024;

struct identity {
  node_id self = 0;
  node_id nodes = 1;
  std::uint64_t group = 0;                // the job's group id
  std::array<std::byte, 16> key{};        // the job's secret
  std::uint32_t host = 0;                 // index of this node's host in the job
  std::uint32_t hosts = 1;                // how many hosts there are
  std::vector<std::uint32_t> host_of{0};  // host index of every node

  // Launch options for the runtime, by the names of launch_options.h: "fabric", "impair", "port", "interface", ...
  std::map<std::string, std::string> options;
};

class bootstrap {
 public:
  bootstrap() = default;
  virtual ~bootstrap();
  bootstrap(const bootstrap&) = delete;
  bootstrap& operator=(const bootstrap&) = delete;

  virtual const identity& who() const = 0;

  // "weft run", "PMIx" or "alone".
  virtual const char* way() const = 0;

  // All-gather of one block a node: returns every node's block, by node. Fails with node_failed as soon as a node is known to have
  // ended, and with timed_out after `limit`.
  virtual result<std::vector<base::byte_buffer>> exchange(base::byte_view mine, base::nanoseconds limit) = 0;

  // Has `told` called for every other node that fails, with how it ended as the rest of a sentence that starts with the node: "was
  // killed by signal 9 (Killed)". Failures from before this call are told as well. One watcher; a second call replaces the first.
  virtual void watch(std::function<void(node_id, const std::string& how)> told) = 0;

  // This node found `peer` unreachable: the launcher ends the job and names that node. `how` completes a sentence, as above.
  virtual void report(node_id peer, const std::string& how) = 0;

  // This node cannot go on and is about to exit with a status other than 0: `sentence` says why and what to try. Returns whether
  // the launcher will say it, once and for all nodes; if not, the node says it itself.
  virtual bool give_up(const std::string& sentence);

  // Has `present` called for what this node's threads do, whenever a roll-call of the job is made; null: no more. Called on a thread of
  // the bootstrap's own; once this returns, the one that was set before is not called any more.
  virtual void on_roll_call(std::function<control::presence()> present);

  // The same for what has been counted, whenever somebody looks at the job: insight/sample.h.
  virtual void on_sample(std::function<std::string()> tell);

  // Has a roll-call of all nodes made and printed. False if there is nobody to make one: then this node tells what it knows itself.
  virtual bool call_roll();

  // Node 0 only: has the statistics of all nodes put where the user asked for them. False if the node is to do that itself.
  virtual bool deliver(const std::string& document);
  // The same for the trace, which comes in pieces.
  virtual bool deliver_trace(const std::string& piece);

  // The orderly end of this node's part; after it, exiting is no failure of the job. The second and later calls do nothing.
  virtual status leave() = 0;
};

// Finds out how this process was started and joins its job: by the environment that `weft run` makes, else by PMIx when a server is
// announced in the environment, else alone. To be called once in a process, before it starts threads that use the environment.
result<std::unique_ptr<bootstrap>> join_job();

}  // namespace weft::runtime
