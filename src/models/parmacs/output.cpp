#include "models/parmacs/output.h"

#include <chrono>
#include <cstdio>
#include <thread>

#include <stdio_ext.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace weft::parmacs {

namespace {

constexpr auto patience = std::chrono::seconds(1);  // with a reader that does not read

// The other end reads sooner or later, or the wait ends by itself; only the order suffers.
void wait_until_read() noexcept {
  const auto until = std::chrono::steady_clock::now() + patience;
  int unread = 0;
  while (::ioctl(STDOUT_FILENO, FIONREAD, &unread) == 0 && unread > 0 && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::microseconds(20));
}

}  // namespace

void show_all_output() noexcept {
  std::fflush(stdout);
  wait_until_read();
}

void show_output() noexcept {
  if (::__fpending(stdout) != 0) show_all_output();
}

}  // namespace weft::parmacs
