// `weft agent`: the command that `weft run` starts on every host. Not for people.
//
// It is two processes. The outer one, the guard, does nothing but wait for the inner one, the agent; if the agent is killed,
// whatever the nodes had started becomes the guard's, and the guard ends it. If the guard is killed, the agent ends the nodes in
// good order.
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "launch/agent_loop.h"
#include "cli/commands.h"
#include "launch/processes.h"

namespace weft::cli {
namespace {

void kill_what_is_left() {
  for (int attempts = 0; attempts < 100 && launch::signal_descendants(SIGKILL) > 0; ++attempts) {
    ::usleep(10'000);
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
  }
}

int guard(pid_t agent_process, const sigset_t& handled) {
  ::close(0);  // or the launcher would not see the agent's end
  ::close(1);
  while (true) {
    int number = 0;
    sigwait(&handled, &number);
    if (number == SIGUSR1) continue;  // meant for the launcher
    if (number != SIGCHLD) {
      ::kill(agent_process, SIGTERM);
      continue;
    }
    int wait_status = 0;
    while (const pid_t pid = ::waitpid(-1, &wait_status, WNOHANG)) {
      if (pid < 0) return status_failed;
      if (pid != agent_process) continue;
      kill_what_is_left();
      return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : status_failed;
    }
  }
}

int run_agent() {
  sigset_t handled;
  sigemptyset(&handled);
  for (const int number : {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGUSR1}) sigaddset(&handled, number);
  sigprocmask(SIG_BLOCK, &handled, nullptr);
  launch::adopt_orphans();
  const auto parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) return status_failed;
  if (child > 0) return guard(child, handled);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) return status_failed;
  launch::adopt_orphans();
  return launch::agent(launch::raise_open_files()).run();
}

}  // namespace

void add_agent(CLI::App& weft, int& exit_status) {
  auto* command = weft.add_subcommand("agent", "Starts the nodes of one host; used by 'weft run'");
  command->group("");  // not in the help
  command->callback([&exit_status] { exit_status = run_agent(); });
}

}  // namespace weft::cli
