#include "os/fault_trap.h"

#include <atomic>
#include <cerrno>
#include <csignal>

#include <ucontext.h>

#include "base/text.h"

namespace weft::os {

namespace {

// The one pointer that a signal handler needs.
std::atomic<trap_target*> current{nullptr};
int caught = 0;
struct sigaction previous;

bool is_write(const ucontext_t& context) {
#if defined(__x86_64__)
  return (context.uc_mcontext.gregs[REG_ERR] & 2) != 0;
#else
  return false;  // the handler is asked again when the read has been allowed and it still faults
#endif
}

void pass_on(int number, siginfo_t* info, void* context) {
  if (previous.sa_flags & SA_SIGINFO) return previous.sa_sigaction(number, info, context);
  if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) return previous.sa_handler(number);
  ::signal(number, SIG_DFL);  // returning repeats the access, and the program ends where it went wrong
}

void on_signal(int number, siginfo_t* info, void* context) {
  const int saved = errno;
  // Acquire pairs with the release in set_trap.
  trap_target* target = current.load(std::memory_order_acquire);
  if (!target || !target->on_trap(info->si_addr, is_write(*static_cast<ucontext_t*>(context)))) pass_on(number, info, context);
  errno = saved;
}

}  // namespace

status set_trap(int signal, trap_target& target) {
  trap_target* none = nullptr;
  if (!current.compare_exchange_strong(none, &target, std::memory_order_release))
    return {errc::invalid_argument, "this process has a shared region already; one at a time"};
  struct sigaction ours {};
  ours.sa_sigaction = on_signal;
  ours.sa_flags = SA_SIGINFO | SA_NODEFER | SA_RESTART;
  caught = signal;
  if (::sigaction(signal, &ours, &previous) == 0) return {};
  current.store(nullptr);
  return base::system_failure("cannot handle page faults", errno);
}

void clear_trap() {
  if (!current.exchange(nullptr)) return;
  struct sigaction now {};
  ::sigaction(caught, nullptr, &now);
  if (now.sa_sigaction == on_signal) ::sigaction(caught, &previous, nullptr);  // else somebody chained to us: we pass on
}

}  // namespace weft::os
