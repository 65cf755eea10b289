// Who looks on at a running job: `weft top`. The launcher listens on a local socket named after its process, and passes questions on to
// the nodes and their samples back. Only for the user who runs the job. One thread, the reactor's.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/channel.h"
#include "runtime/control.h"
#include "runtime/reactor.h"

namespace weft::cli {

// The socket's name for a launcher's process, without the zero byte that abstract names begin with.
inline std::string audience_name(pid_t launcher) {
  return "weft-run-" + std::to_string(launcher);
}

// Connects to it; not open if there is none, or it is another user's.
runtime::descriptor join_audience(pid_t launcher);

class run_audience {
 public:
  // `asked` is called with every question. Where the socket cannot be made, nobody looks on.
  run_audience(runtime::reactor& loop, std::function<void(const runtime::control::ask_sample&)> asked);
  ~run_audience();
  run_audience(const run_audience&) = delete;
  run_audience& operator=(const run_audience&) = delete;

  void tell(runtime::control::sample m);  // whoever has not taken what was told before misses this one

 private:
  void accept();

  runtime::reactor& loop_;
  std::function<void(const runtime::control::ask_sample&)> asked_;
  runtime::descriptor listener_;
  std::vector<std::unique_ptr<runtime::channel>> here_;
};

}  // namespace weft::cli
