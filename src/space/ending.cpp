#include "space/ending.h"

#include <unistd.h>

#include <atomic>
#include <cstdio>

namespace weft::runtime {
namespace {

constexpr int failed_status = 70;
std::atomic<end_listener> listening{nullptr};  // sequentially consistent: set while the job starts, read when it cannot go on

}  // namespace

void tell_of_end(end_listener listener) noexcept {
  listening.store(listener);
}

void end_with(errc why, const std::string& sentence) noexcept {
  const auto listener = listening.load();
  if (!listener || !listener(why, sentence)) std::fprintf(stderr, "weft: %s\n", sentence.c_str());
  ::_exit(failed_status);
}

}  // namespace weft::runtime
