// Who looks on at a running job: `weft top`. The launcher listens on a local socket named after its process, and passes questions on to
// the nodes and their samples back. Only for the user who runs the job. One thread, the reactor's.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "launch/channel.h"
#include "join/control.h"
#include "launch/reactor.h"

namespace weft::launch {

// The socket's name for a launcher's process, without the zero byte that abstract names begin with.
inline std::string audience_name(pid_t launcher) {
  return "weft-run-" + std::to_string(launcher);
}

// Connects to it; not open if there is none, or it is another user's.
os::descriptor join_audience(pid_t launcher);

class run_audience {
 public:
  // `asked` is called with every question. Where the socket cannot be made, nobody looks on.
  run_audience(launch::reactor& loop, std::function<void(const control::ask_sample&)> asked);
  ~run_audience();
  run_audience(const run_audience&) = delete;
  run_audience& operator=(const run_audience&) = delete;

  void tell(control::sample m);  // whoever has not taken what was told before misses this one

 private:
  void accept();

  launch::reactor& loop_;
  std::function<void(const control::ask_sample&)> asked_;
  os::descriptor listener_;
  std::vector<std::unique_ptr<launch::channel>> here_;
};

}  // namespace weft::launch
