// The launcher: `weft run` once its command line has been understood. It starts an agent a host, lets the nodes meet through them,
// passes output and input on, and decides how the job ends.
//
// One thread. The end of a job is decided once, by the first thing that goes wrong (a verdict); from then on the job is only
// brought down, and the sentence about it is the last line that is printed.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "launch/audience.h"
#include "launch/input.h"
#include "launch/link.h"
#include "launch/output.h"
#include "launch/plan.h"
#include "join/control.h"
#include "launch/reactor.h"
#include "insight/roll_call.h"

namespace weft::launch {

class run_launcher {
 public:
  explicit run_launcher(run_plan plan);

  // Runs the job to its end; the exit status of `weft run`.
  int run();

 private:
  struct node_record {
    pid_t pid = 0;
    bool joined = false, left = false, exited = false;
    int wait_status = 0;
    std::string version, build;
    std::string reason;        // why it gave up, in its own words
    std::uint32_t rounds = 0;  // exchanges that it has come to
  };
  struct verdict {
    int exit_status;
    std::string sentence;
  };
  struct round {
    std::vector<base::byte_buffer> cards;
    std::size_t count = 0, bytes = 0;
  };

  // run_launcher.cpp: the agents, the signals, the end
  void start_more_agents();
  void start_nodes();
  void take_signals();
  void interrupted(int number);
  void suspend();
  void beat();
  void reap();
  void end_agents(bool at_once);
  bool all_over() const;
  bool all_written() const;
  run_output::events output_events(const char* what);
  void wait_for_commands();
  int finish();
  void say(const std::string& text) const;  // with --verbose

  // run_messages.cpp: what agents say
  void from_agent(std::uint32_t host, control::message m);
  void agent_ready(std::uint32_t host, const control::ready& m);
  void node_not_started(std::uint32_t host, const control::not_started& m);
  void node_greets(const control::hello& m);
  void node_contributes(control::card&& m);
  void node_asks(std::uint32_t host, const control::ask_missing& m);
  void to_all(const control::message& m);

  // run_roll_call.cpp: who waits where for what
  void watch_progress();
  void call_roll();
  void node_present(control::presence&& m);
  void conclude_roll();
  bool stalled();

  // run_failures.cpp: what it means that a node, a host or a limit is gone
  void node_exited(std::uint32_t node, int wait_status);
  void node_reported(const control::report& m);
  void judge_reports();
  bool awaits_judgement(std::uint32_t node) const;
  void host_lost(std::uint32_t host, const std::string& how);
  void host_unreachable(run_link& link);
  void stayed_out(std::uint32_t node);
  void node_failed(std::uint32_t node, int exit_status, const std::string& how);
  bool decide(int exit_status, std::string sentence);
  void bring_down();
  std::string name(std::uint32_t node) const;
  bool anybody_listens() const;

  run_plan plan_;
  launch::reactor loop_;
  os::descriptor signals_;
  control::start_job job_;
  std::vector<std::unique_ptr<run_link>> links_;
  std::size_t next_link_ = 0;
  std::vector<node_record> nodes_;
  std::map<std::uint32_t, round> rounds_;
  std::optional<std::uint32_t> first_joined_;
  run_output out_;
  std::unique_ptr<run_output> err_;  // none where both streams lead to the same place
  run_input input_;
  run_audience audience_;
  std::vector<control::report> reports_;           // of nodes that others cannot reach; judged together, a moment after the first
  std::optional<verdict> verdict_, afterthought_;  // the latter: a node failed after it had left
  base::nanoseconds last_beat_ = 0;

  // The roll-call that is under way, or was last.
  struct roll {
    std::uint32_t round = 0;
    bool open = false, to_be_told = false;
    std::vector<runtime::roll_answer> answers;  // by node
    launch::reactor::timer limit = 0;
  } roll_;
  std::vector<std::uint64_t> progress_;  // by node, as it was at the last roll-call
  base::nanoseconds moved_ = 0;          // when there was progress last, or nobody waited
  std::string document_;                 // the statistics
  std::ofstream trace_;                  // open if there is to be one
  bool nodes_started_ = false, ending_ = false, interrupted_ = false, given_up_on_output_ = false;
};

}  // namespace weft::launch
