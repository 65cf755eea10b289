// weft's message port where messages arrive in events and nobody drives it: the common part of the ports of simulated nodes.
//
// An event is no thread, so it must not wait, just as a port's handlers. One event is handled at a time.
#pragma once

#include <utility>
#include <vector>

#include "fabric/message_port.h"

namespace weft::sim {

// A message under way.
struct parcel {
  handler_id id;
  std::vector<word> words;
  std::vector<std::byte> payload;
  std::uint64_t notices = 0;  // that it brings and its destination has not seen
  std::uint64_t moved = 0;    // bytes of the payload that are counted
};

class event_port : public fabric::message_port {
 public:
  result<base::byte_buffer> open() override { return base::byte_buffer{}; }
  status connect(std::span<const base::byte_buffer>) override { return {}; }
  bool disturbs() const noexcept override { return true; }  // handlers run in events of their own

 protected:
  using message_port::message_port;

  // Handles a parcel, and does what else there is to do here.
  void handle(node_id source, weft::lane l, const parcel& p) {
    arrived_ = {source, l, &p};
    work();
    arrived_ = {};
  }

  // Does what this node has to do for itself; whether there was anything.
  bool work() { return as_driven().drive_once(); }
  bool has_work() { return as_driven().unfinished(); }

 private:
  weft::fabric::driven& as_driven() { return *this; }

  bool poll_transport() final {
    const arrival a = std::exchange(arrived_, arrival{});
    if (!a.what) return false;
    dispatch(a.source, a.lane, a.what->id, a.what->words, a.what->payload);
    return true;
  }
  bool work_now() final { return false; }
  bool pending() final { return false; }
  void arm(weft::fabric::sleeper) final {}
  void disarm() final {}
  void block(weft::fabric::sleeper, base::nanoseconds) final {}

  struct arrival {
    node_id source = 0;
    weft::lane lane = weft::lane::request;
    const parcel* what = nullptr;
  };
  arrival arrived_;
};

}  // namespace weft::sim
