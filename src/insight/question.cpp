#include "insight/question.h"

#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>

namespace weft::runtime {

namespace {

constexpr std::uint64_t asked_once = 1, end = std::uint64_t{1} << 32;

// What the signal handler needs: the bell's descriptor, or -1.
std::atomic<int> bell{-1};

void ring(int) {
  const int saved = errno;
  if (const int fd = bell.load(); fd >= 0) (void)!::write(fd, &asked_once, sizeof asked_once);
  errno = saved;
}

}  // namespace

question::question(std::function<void()> asked) : asked_(std::move(asked)) {
  struct sigaction now {};
  ::sigaction(SIGUSR1, nullptr, &now);
  if ((now.sa_flags & SA_SIGINFO) != 0 || (now.sa_handler != SIG_DFL && now.sa_handler != ring)) return;  // the program's own
  bell_ = os::descriptor(::eventfd(0, EFD_CLOEXEC));
  if (!bell_.open()) return;
  bell.store(bell_.get());
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // the program's signals are for the program's threads
  listener_ = std::thread([this] { listen(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  now = {};
  now.sa_handler = ring;
  now.sa_flags = SA_RESTART;
  ::sigaction(SIGUSR1, &now, nullptr);
}

// The handler stays, because a signal may be on its way; without a bell it does nothing.
question::~question() {
  if (!listener_.joinable()) return;
  bell.store(-1);
  (void)!::write(bell_.get(), &end, sizeof end);
  listener_.join();
}

void question::listen() {
  std::uint64_t rung = 0;
  while (::read(bell_.get(), &rung, sizeof rung) == sizeof rung && rung < end) asked_();
}

}  // namespace weft::runtime
