// The launcher's end of one host: the command that starts the agent there, the control channel through it, and what it says on its
// standard error.
//
// One thread, the reactor's. Whoever reaps children tells the link of its command's end.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "launch/channel.h"
#include "launch/reactor.h"

namespace weft::launch {

class run_link {
 public:
  struct events {
    std::function<void(control::message)> message;
    std::function<void()> lost;                          // once: the channel ended, and `finished` had not been said
    std::function<void(const std::string& line)> noise;  // what the command itself prints
  };

  run_link(launch::reactor& loop, std::string host, std::vector<std::string> command, events tell);
  ~run_link();
  run_link(const run_link&) = delete;
  run_link& operator=(const run_link&) = delete;

  // Starts the command; an errno value if it cannot be.
  int start();

  const std::string& host() const { return host_; }
  const std::vector<std::string>& command() const { return command_; }
  pid_t pid() const { return pid_; }
  bool started() const { return pid_ > 0; }
  bool ready() const { return ready_; }  // the agent has said so
  bool over() const { return over_; }    // finished, lost, or never started
  bool reaped() const { return reaped_ || pid_ <= 0; }
  int wait_status() const { return wait_status_; }

  // The last thing that the command said, for the sentence about its failure.
  std::string last_words() const;

  // Whether another host is behind it, which may be cut off without anybody saying so.
  bool remote() const { return !command_.empty(); }
  base::nanoseconds last_heard() const { return last_heard_; }
  void forgive_silence() { last_heard_ = base::now(); }

  void send(const control::message& m) { send(launch::share(m)); }
  void send(launch::shared_frame frame);
  void set_ready() { ready_ = true; }
  void set_over() { over_ = true; }
  void command_ended(int wait_status);
  void kill(int number);
  void hang_up();  // gives up on the host

 private:
  void stderr_readable();
  void channel_closed();
  void tell_lost();

  launch::reactor& loop_;
  const std::string host_;
  const std::vector<std::string> command_;
  events tell_;
  pid_t pid_ = -1;
  std::unique_ptr<launch::channel> channel_;
  os::descriptor errors_;
  std::string error_line_, last_error_;
  bool ready_ = false, over_ = false, closed_ = false, told_ = false, reaped_ = false;
  int wait_status_ = 0;
  base::nanoseconds last_heard_ = 0;
};

}  // namespace weft::launch
