// Plain UDP sockets on loopback, written as well as we can: the floor under the udp fabric.
//
// A stream is limited by a window that the receiver opens with small datagrams of its own, so nothing is lost and nothing has to be
// sent again. What the best way of streaming is depends on the kernel, so there are several, and the benchmark takes the best.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <weft/job.h>

#include "os/memory_file.h"

namespace weft::bench {

struct socket_setup {
  std::size_t datagram;  // bytes
  unsigned batch;        // datagrams a call
  std::size_t window;    // bytes under way
  bool segmented;        // a batch is one buffer that the kernel cuts (UDP_SEGMENT), and may join again for the receiver (UDP_GRO)
  bool spin;             // nobody sleeps
};

// The first `bulk_setups` stream 64 KiB blocks, each in its own way; the others are for the plot of bandwidth by size.
std::span<const socket_setup> socket_setups();
inline constexpr std::size_t bulk_setups = 9;

// Two sockets of each node, connected to the other node's: one for small messages, one with large buffers for streams.
class bare_sockets {
 public:
  explicit bare_sockets(job& all);

  int small() const { return small_.get(); }
  int bulk() const { return bulk_.get(); }
  std::size_t receive_buffer() const { return receive_buffer_; }  // of the bulk socket, as granted

 private:
  os::unique_fd small_, bulk_;
  std::size_t receive_buffer_ = 0;
};

}  // namespace weft::bench
