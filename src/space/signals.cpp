#include "space/signals.h"

#include <csignal>

#include "os/fault_trap.h"
#include "os/next.h"

namespace weft::runtime {
namespace {

constinit os::next<int> next_sigaction("sigaction"), next_pthread_sigmask("pthread_sigmask"), next_sigprocmask("sigprocmask");
constinit os::next<sighandler_t> next_signal("signal");

// A mask without the signals of faults; null if there is none.
class without_faults {
 public:
  explicit without_faults(const sigset_t* all) : given_(all != nullptr) {
    if (!given_) return;
    most_ = *all;
    sigdelset(&most_, SIGSEGV);
    sigdelset(&most_, SIGBUS);
  }
  const sigset_t* get() const { return given_ ? &most_ : nullptr; }

 private:
  const bool given_;
  sigset_t most_;
};

}  // namespace

void let_faults_through() noexcept {
  sigset_t faults;
  sigemptyset(&faults);
  sigaddset(&faults, SIGSEGV);
  sigaddset(&faults, SIGBUS);
  next_pthread_sigmask(SIG_UNBLOCK, static_cast<const sigset_t*>(&faults), static_cast<sigset_t*>(nullptr));
}

extern "C" int sigaction(int signal, const struct sigaction* action, struct sigaction* old) noexcept {
  if (os::program_sets_handler(signal, action, old)) return 0;
  if (!action) return next_sigaction(signal, action, old);
  struct sigaction ours = *action;
  ours.sa_mask = *without_faults(&action->sa_mask).get();
  return next_sigaction(signal, static_cast<const struct sigaction*>(&ours), old);
}

extern "C" sighandler_t signal(int number, sighandler_t handler) noexcept {
  struct sigaction now {
  }, before{};
  now.sa_handler = handler;
  now.sa_flags = SA_RESTART;
  return os::program_sets_handler(number, &now, &before) ? before.sa_handler : next_signal(number, handler);
}

extern "C" int pthread_sigmask(int how, const sigset_t* mask, sigset_t* old) noexcept {
  return next_pthread_sigmask(how, how == SIG_UNBLOCK ? mask : without_faults(mask).get(), old);
}

extern "C" int sigprocmask(int how, const sigset_t* mask, sigset_t* old) noexcept {
  return next_sigprocmask(how, how == SIG_UNBLOCK ? mask : without_faults(mask).get(), old);
}

}  // namespace weft::runtime
