// A stream of control messages inside a reactor: reads frames as they come, writes them as the other side takes them, and never
// waits.
//
// One thread, the reactor's. The callbacks must not destroy the channel. What is queued for writing is bounded by its users: output
// and input flow under credit, and everything else is a few messages a node.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "join/control.h"
#include "os/descriptor.h"
#include "launch/reactor.h"

namespace weft::launch {

using shared_frame = std::shared_ptr<const base::byte_buffer>;
inline shared_frame share(const control::message& m) {
  return std::make_shared<const base::byte_buffer>(control::encode(m));
}

class channel {
 public:
  struct events {
    std::function<void(control::message)> message;
    std::function<void()> closed;  // once: the other side is gone or talks garbage
  };

  // `in` and `out` are descriptors of their own, even where they lead to the same socket.
  channel(reactor& loop, os::descriptor in, os::descriptor out, events tell);
  ~channel() { close(); }
  channel(const channel&) = delete;
  channel& operator=(const channel&) = delete;

  // Everything before control::greeting is noise, not frames; call before the first turn of the loop.
  void expect_greeting() { greeted_ = false; }
  bool greeted() const { return greeted_; }

  // What stood before the greeting, or instead of it.
  const std::string& noise() const { return noise_; }

  void send(const control::message& m) { send(share(m)); }
  void send(shared_frame frame);  // one frame may go to many channels without a copy each
  void send_raw(std::string_view text);

  // Reads what has already arrived. For the moment when the other process is known to have ended.
  void drain();

  bool open() const { return in_.open(); }
  bool idle() const { return queue_.empty(); }  // nothing left to write
  void close();

 private:
  void readable();
  void writable();
  bool skip_noise(base::byte_view& arrived);
  void hang_up();

  reactor& loop_;
  os::descriptor in_, out_;
  events tell_;
  control::parser parser_;
  bool greeted_ = true;
  std::string noise_;
  std::deque<shared_frame> queue_;
  std::size_t written_ = 0;  // of the first frame in the queue
};

}  // namespace weft::launch
