// Reads the launcher's standard input for node 0, as far as node 0 has room for it.
//
// In the background of a terminal nothing is read: it would take the input from whoever is in the foreground, and stop the
// launcher. One thread, the reactor's.
#pragma once

#include <cstdint>
#include <functional>

#include "base/bytes.h"
#include "runtime/control.h"
#include "runtime/reactor.h"

namespace weft::cli {

class run_input {
 public:
  // `take` gets pieces as they come; an empty one is the end.
  run_input(runtime::reactor& loop, std::function<void(base::byte_buffer)> take);
  ~run_input() { stop(); }
  run_input(const run_input&) = delete;
  run_input& operator=(const run_input&) = delete;

  void start();
  void add_credit(std::uint32_t count);
  void stop();  // node 0 is gone

 private:
  void look();  // whether there may be reading now
  void readable();

  runtime::reactor& loop_;
  std::function<void(base::byte_buffer)> take_;
  std::size_t credit_ = runtime::control::input_window;
  bool active_ = false;
  runtime::reactor::timer again_ = 0;
};

}  // namespace weft::cli
