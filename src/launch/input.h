// Reads the launcher's standard input for node 0, as far as node 0 has room for it.
//
// In the background of a terminal nothing is read: it would take the input from whoever is in the foreground, and stop the
// launcher. One thread, the reactor's.
#pragma once

#include <cstdint>
#include <functional>

#include "base/bytes.h"
#include "join/control.h"
#include "launch/reactor.h"

namespace weft::launch {

class run_input {
 public:
  // `take` gets pieces as they come; an empty one is the end.
  run_input(launch::reactor& loop, std::function<void(base::byte_buffer)> take);
  ~run_input() { stop(); }
  run_input(const run_input&) = delete;
  run_input& operator=(const run_input&) = delete;

  void start();
  void add_credit(std::uint32_t count);
  void stop();  // node 0 is gone

 private:
  void look();  // whether there may be reading now
  void readable();

  launch::reactor& loop_;
  std::function<void(base::byte_buffer)> take_;
  std::size_t credit_ = control::input_window;
  bool active_ = false;
  launch::reactor::timer again_ = 0;
};

}  // namespace weft::launch
