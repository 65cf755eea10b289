#include "launch/input.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace weft::launch {
namespace {

constexpr base::nanoseconds between_looks = 500 * base::millisecond;

bool in_background() {
  return ::isatty(0) == 1 && ::tcgetpgrp(0) != ::getpgrp();
}

}  // namespace

run_input::run_input(launch::reactor& loop, std::function<void(base::byte_buffer)> take) : loop_(loop), take_(std::move(take)) {}

void run_input::start() {
  active_ = true;
  loop_.watch(0, 0, [this] { readable(); });
  look();
}

void run_input::look() {
  if (!active_) return;
  const bool waiting = in_background();
  loop_.change(0, waiting || credit_ == 0 ? 0 : POLLIN);
  if (::isatty(0) == 1) again_ = loop_.after(between_looks, [this] { look(); });  // the foreground changes hands without a word
}

void run_input::add_credit(std::uint32_t count) {
  credit_ += count;
  if (active_ && !in_background()) loop_.change(0, POLLIN);
}

void run_input::readable() {
  if (in_background()) return loop_.change(0, 0);
  base::byte_buffer piece(std::min<std::size_t>(credit_, 64 * 1024));
  const auto got = ::read(0, piece.data(), piece.size());
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (got < 0 && errno == EIO && ::isatty(0) == 1) return loop_.change(0, 0);  // just went to the background
  piece.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  credit_ -= piece.size();
  const bool ended = piece.empty();
  take_(std::move(piece));
  if (ended)
    stop();
  else if (credit_ == 0)
    loop_.change(0, 0);
}

void run_input::stop() {
  if (!active_) return;
  active_ = false;
  loop_.forget(0);
  loop_.cancel(again_);
}

}  // namespace weft::launch
