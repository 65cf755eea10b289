#include "os/fault_trap.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <mutex>

#include <ucontext.h>

#include "base/text.h"
#include "os/spin.h"

namespace weft::os {

namespace {

constexpr std::size_t most_targets = 256;

// All that the signal handler knows of one signal.
struct trap {
  std::array<std::atomic<trap_target*>, most_targets> targets{};
  std::atomic<std::size_t> used{0};  // slots below it may have a target; only grows
  std::atomic<bool> set{false};      // the signal comes to us

  spin_lock lock;                 // guards the next; held for a copy, in which nothing can fault
  struct sigaction otherwise {};  // who gets the faults that belong to nobody here
};
trap of_segv, of_bus;

trap* trap_of(int signal) {
  return signal == SIGSEGV ? &of_segv : signal == SIGBUS ? &of_bus : nullptr;
}

bool is_write(const ucontext_t& context) {
#if defined(__x86_64__)
  return (context.uc_mcontext.gregs[REG_ERR] & 2) != 0;
#else
  return false;  // the target is asked again when the read has been allowed and it still faults
#endif
}

// Nobody here has memory that instructions may be fetched from: opening it for reading and writing would not help.
bool is_fetch(const ucontext_t& context, const void* address) {
#if defined(__x86_64__)
  static_cast<void>(address);
  return (context.uc_mcontext.gregs[REG_ERR] & 16) != 0;
#elif defined(__aarch64__)
  return context.uc_mcontext.pc == reinterpret_cast<std::uintptr_t>(address);
#else
  return false;
#endif
}

void end_as_without_us(trap& t, int number, bool sent) {
  t.set.store(false);  // so that the next call means the kernel's own table
  ::signal(number, SIG_DFL);
  if (sent) ::raise(number);
  // Otherwise returning repeats the access, and the program ends where it went wrong.
}

// The handler is called as the kernel would have, except that faults of ours stay possible inside it.
void pass_on(trap& t, int number, siginfo_t* info, void* context) {
  struct sigaction to;
  {
    std::scoped_lock guard(t.lock);
    to = t.otherwise;
    if (to.sa_flags & SA_RESETHAND) t.otherwise.sa_handler = SIG_DFL;
  }
  const bool sent = info->si_code <= 0;  // by kill and its like; a fault cannot be ignored
  if (to.sa_handler == SIG_IGN && sent) return;
  if (to.sa_handler == SIG_DFL || to.sa_handler == SIG_IGN) return end_as_without_us(t, number, sent);
  sigdelset(&to.sa_mask, SIGSEGV);
  sigdelset(&to.sa_mask, SIGBUS);
  sigset_t before;
  ::pthread_sigmask(SIG_BLOCK, &to.sa_mask, &before);
  if (to.sa_flags & SA_SIGINFO)
    to.sa_sigaction(number, info, context);
  else
    to.sa_handler(number);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void on_signal(int number, siginfo_t* info, void* context) {
  const int saved = errno;
  trap& t = *trap_of(number);
  const auto& at = *static_cast<ucontext_t*>(context);
  const bool write = is_write(at);
  bool taken = false;
  if (info->si_code > 0 && !(number == SIGSEGV && is_fetch(at, info->si_addr)))
    // Acquire: what is found below `used` was made before it grew, and a target before it was put there (set_trap).
    for (std::size_t i = 0, n = t.used.load(std::memory_order_acquire); i < n && !taken; ++i)
      if (trap_target* target = t.targets[i].load(std::memory_order_acquire)) taken = target->on_trap(info->si_addr, write);
  if (!taken) pass_on(t, number, info, context);
  errno = saved;
}

status install(trap& t, int signal) {
  static std::mutex one_at_a_time;  // guards the step from not set to set
  std::scoped_lock guard(one_at_a_time);
  if (t.set.load()) return {};
  struct sigaction ours {};
  ours.sa_sigaction = on_signal;
  ours.sa_flags = SA_SIGINFO | SA_NODEFER | SA_RESTART;
  if (::sigaction(signal, &ours, &t.otherwise) != 0) return base::system_failure("cannot handle page faults", errno);
  t.set.store(true);
  return {};
}

}  // namespace

status set_trap(int signal, trap_target& target) {
  trap& t = *trap_of(signal);
  for (std::size_t i = 0; i < most_targets; ++i) {
    trap_target* none = nullptr;
    // Release: the handler that finds the target finds it made.
    if (!t.targets[i].compare_exchange_strong(none, &target, std::memory_order_release)) continue;
    for (std::size_t n = t.used.load(); n <= i && !t.used.compare_exchange_weak(n, i + 1);) {
    }
    return install(t, signal);
  }
  return {errc::too_large, "256 ranges of memory have their faults handled already; end some first"};
}

void clear_trap(int signal, trap_target& target) {
  for (auto& slot : trap_of(signal)->targets) {
    trap_target* self = &target;
    slot.compare_exchange_strong(self, nullptr);
  }
}

bool program_sets_handler(int signal, const struct sigaction* action, struct sigaction* old) {
  trap* t = trap_of(signal);
  if (!t || !t->set.load()) return false;
  struct sigaction before, after{};
  if (action) after = *action;
  {
    std::scoped_lock guard(t->lock);
    before = t->otherwise;
    if (action) t->otherwise = after;
  }
  if (old) *old = before;
  return true;
}

}  // namespace weft::os
