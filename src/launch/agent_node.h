// One node as the agent of its host sees it: a process, its output, its standard input, and its end of the control socket.
//
// One thread, the reactor's. A node is `over` when its process has ended and all its output has been passed on.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "launch/channel.h"
#include "os/descriptor.h"
#include "launch/line_buffer.h"
#include "launch/processes.h"
#include "launch/reactor.h"

namespace weft::launch {

class agent_node {
 public:
  struct events {
    std::function<void(control::message)> message;                      // from the node's control socket
    std::function<void(std::uint8_t stream, std::string text)> output;  // whole lines
    std::function<std::size_t()> credit;                                // how much output may be passed on now
    std::function<void(std::uint32_t)> input_taken;
    std::function<void()> over;
  };

  agent_node(launch::reactor& loop, std::uint32_t number, bool whole_lines, events tell);
  ~agent_node();
  agent_node(const agent_node&) = delete;
  agent_node& operator=(const agent_node&) = delete;

  // Starts the process. `request` says what; the streams and the control socket are this function's business. Node 0 has an input.
  launch::spawned start(launch::spawn_request request);

  std::uint32_t number() const { return number_; }
  pid_t pid() const { return pid_; }
  bool running() const { return pid_ > 0 && !ended_; }
  bool over() const { return ended_ && !streams_[0].from.open() && !streams_[1].from.open(); }

  void send(launch::shared_frame frame);  // over the control socket
  void add_input(base::byte_view data);   // an empty piece is the end
  void pump_output();                     // after credit has come
  void process_ended();                   // what it said and wrote before that is still passed on
  void abandon_output();

 private:
  struct stream {
    os::descriptor from;
    launch::line_buffer lines;
    std::size_t left = 0;  // once the process has ended: how much of its own output is still in the pipe
  };

  void pump(std::size_t which);
  void pass_on(std::size_t which, std::string text);
  void close_stream(std::size_t which);
  void write_input();
  void close_input();

  launch::reactor& loop_;
  const std::uint32_t number_;
  const bool whole_lines_;
  events tell_;
  pid_t pid_ = -1;
  bool ended_ = false, told_over_ = false;
  std::array<stream, 2> streams_;
  std::unique_ptr<launch::channel> control_;
  os::descriptor input_;
  std::string input_pending_;
  bool input_ended_ = false;
};

}  // namespace weft::launch
