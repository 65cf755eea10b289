// A datagram socket as the udp fabric uses it: batches in as few system calls as the kernel allows.
//
// Small datagrams of equal size to one destination leave in one call (UDP_SEGMENT) and may arrive in one (UDP_GRO); datagrams that
// fill a loopback packet go one by one, because that is fastest. Sending may be called by any thread with a `send_batch` of its own;
// receiving by one at a time.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include <netinet/in.h>
#include <sys/socket.h>

#include "reliable/buffer_pool.h"
#include "reliable/wire.h"
#include "fabric/udp/address.h"
#include "os/memory_file.h"
#include <weft/port.h>

namespace weft::fabric::udp {

// Where datagrams go: an address, and a socket that is connected to it, so that the kernel looks up the way once instead of for every
// datagram. It only sends; what arrives comes to the one socket whose port the peers were told. Without one (a process may have only so
// many) that socket sends as well.
class destination {
 public:
  destination() = default;
  destination(const endpoint& to, std::size_t buffer_bytes);

  const endpoint& address() const { return to_; }
  int connected() const { return fd_.get(); }  // or -1

 private:
  endpoint to_;
  os::unique_fd fd_;
};

class datagram_socket {
 public:
  // Bound to `port` (0: any) on loopback or on all addresses of the family.
  static result<datagram_socket> open(std::uint8_t family, bool loopback, std::uint16_t port, std::size_t kernel_bytes);

  std::uint16_t port() const { return port_; }
  int descriptor() const { return fd_.get(); }
  std::size_t receive_buffer() const { return receive_buffer_; }  // bytes that the kernel holds for us

  // The largest UDP payload that reaches `to` unfragmented.
  static std::size_t path_payload(const endpoint& to);

  enum class outcome { sent, would_block, too_large, failed };

  // One datagram, in one piece or two.
  outcome send(const destination& to, bytes all);
  outcome send(const destination& to, bytes head, bytes body);
  // `data` is cut every `segment` bytes into datagrams; the last may be shorter. Falls back to one call each where the kernel cannot.
  outcome send_segments(const destination& to, bytes data, std::size_t segment);

  // Receives up to a few buffers without waiting, and calls take(datagram) for each datagram. How many there were.
  template <typename F>
  std::size_t receive(F&& take) {
    const int got = receive_batch();
    std::size_t datagrams = 0;
    for (int i = 0; i < got; ++i) {
      bytes all(buffers_[static_cast<std::size_t>(i)].get() + lead, sizes_[static_cast<std::size_t>(i)]);
      const std::size_t segment = segments_[static_cast<std::size_t>(i)] ? segments_[static_cast<std::size_t>(i)] : all.size();
      do {  // an empty datagram is one, too
        const std::size_t n = std::min(segment, all.size());
        take(all.first(n));
        all = all.subspan(n);
        ++datagrams;
      } while (!all.empty());
    }
    return datagrams;
  }

  bool drained() const { return drained_; }  // the last receive() left nothing behind

  std::uint64_t calls() const { return calls_; }  // receiving system calls; the receiver's

  static constexpr std::size_t most_segments = 60;
  static constexpr std::size_t most_batch = 60000;  // bytes of one segmented send

 private:
  static constexpr std::size_t buffers = 8;
  static constexpr std::size_t buffer_bytes = 65536;
  static constexpr std::size_t lead = 64 - reliable::header_bytes % 64;  // so that what follows a header begins with a cache line

  int receive_batch();
  int sender(const destination& to) const { return to.connected() >= 0 ? to.connected() : fd_.get(); }

  os::unique_fd fd_;
  std::uint16_t port_ = 0;
  std::size_t receive_buffer_ = 0;
  bool can_segment_ = true;
  unsigned large_ = 0;  // large datagrams arrived lately: then few at a time stay in the cache
  bool drained_ = false;
  std::uint64_t calls_ = 0;
  std::array<reliable::line_buffer, buffers> buffers_;
  std::array<std::size_t, buffers> sizes_{};
  std::array<std::size_t, buffers> segments_{};
};

}  // namespace weft::fabric::udp
