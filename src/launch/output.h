// Writes what nodes print to one of the launcher's own streams, or to both where they lead to the same place, without ever mixing
// two nodes in one line and without ever waiting.
//
// A piece that does not end a line (the last words of a node, or a part of a very long line) leaves the line open; if another node
// is next, the line is ended first. One thread, the reactor's. Unwritten pieces are bounded by the credit that agents have.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "launch/reactor.h"

namespace weft::launch {

class run_output {
 public:
  struct events {
    std::function<void(std::uint32_t host, std::uint32_t bytes)> written;  // of a node's own text, tags not counted
    std::function<void(int why)> broken;                                   // errno; nothing more is written after that
  };

  run_output(launch::reactor& loop, int fd, bool tag, events tell);
  ~run_output() { loop_.forget(fd_); }
  run_output(const run_output&) = delete;
  run_output& operator=(const run_output&) = delete;

  struct piece {
    std::uint32_t host, node;
    std::uint8_t stream;
    std::string text;
  };

  void add(piece p);
  bool idle() const { return pieces_.empty(); }

 private:
  using source = std::pair<std::uint32_t, std::uint8_t>;  // a stream of a node

  void writable();
  void render(const piece& p);  // into line_, as it goes to the stream
  bool write_some();            // false when it would wait, or cannot

  launch::reactor& loop_;
  const int fd_;
  const bool tag_, socket_, regular_;
  events tell_;
  std::deque<piece> pieces_;
  std::string rendered_;
  std::size_t done_ = 0;
  bool rendering_ = false, broken_ = false;
  std::optional<source> open_line_of_;  // whose line has no end yet
};

}  // namespace weft::launch
