// The agent: what `weft run` starts on every host of a job. It starts this host's nodes, carries their control messages and their
// output to the launcher, and ends them: when it is told to, when the launcher is gone, and when it is ended itself.
//
// One thread. Nothing that a node has started is left running when run() returns: SIGTERM first, SIGKILL after two seconds, and
// processes that left their group are found because orphans become children of the agent.
#pragma once

#include <sys/resource.h>

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "launch/agent_node.h"
#include "launch/channel.h"
#include "join/control.h"
#include "launch/reactor.h"

namespace weft::launch {

class agent {
 public:
  // The control channel is standard input and output. `open_files` is the limit that nodes get.
  explicit agent(rlimit open_files);

  int run();

 private:
  void from_launcher(control::message m);
  void from_node(agent_node& node, control::message m);
  void take_signals();
  void reap();

  void start_nodes();
  bool start_node(std::uint32_t number, const std::string& file, const std::vector<std::string>& environment);
  agent_node::events events_of(std::uint32_t number);
  std::vector<std::string> environment() const;
  void welcome(std::uint32_t node);
  void tell_joined(launch::shared_frame frame);
  agent_node* find(std::uint32_t node);

  void heard_from_launcher(const control::heartbeat& m);
  void launcher_gone();
  void end_nodes(bool at_once);
  void kill_everything();
  void check_end();
  void finish();

  launch::reactor loop_;
  std::unique_ptr<launch::channel> launcher_;
  os::descriptor signals_;
  const rlimit open_files_;
  control::start_job job_;
  std::vector<std::unique_ptr<agent_node>> nodes_;
  std::set<std::uint32_t> greeted_, joined_;
  std::vector<launch::shared_frame> notices_;  // for nodes that join later
  std::int64_t credit_ = control::output_window;
  bool started_ = false, ending_ = false, sweeping_ = false, finished_ = false, done_ = false;
  int kills_ = 0;
  launch::reactor::timer silence_ = 0;  // runs out when the launcher has not been heard of for too long
};

}  // namespace weft::launch
