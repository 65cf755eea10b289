#include "launch/channel.h"

#include <poll.h>

#include <cerrno>

namespace weft::launch {

namespace {
constexpr std::size_t most_noise = 64 * 1024;
}

channel::channel(reactor& loop, os::descriptor in, os::descriptor out, events tell)
    : loop_(loop), in_(std::move(in)), out_(std::move(out)), tell_(std::move(tell)) {
  os::never_block(in_.get());
  os::never_block(out_.get());
  loop_.watch(in_.get(), POLLIN, [this] { readable(); });
  loop_.watch(out_.get(), 0, [this] { writable(); });
}

void channel::send_raw(std::string_view text) {
  const auto view = base::bytes_of(text);
  send(std::make_shared<const base::byte_buffer>(view.begin(), view.end()));
}

void channel::send(shared_frame frame) {
  if (!out_.open() || frame->empty()) return;
  queue_.push_back(std::move(frame));
  if (queue_.size() == 1) writable();
}

void channel::writable() {
  while (!queue_.empty()) {
    const auto& frame = *queue_.front();
    const auto sent = ::write(out_.get(), frame.data() + written_, frame.size() - written_);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) break;
    if (sent < 0) {  // reading goes on: what the other side said last may say why it is gone
      queue_.clear();
      loop_.forget(out_.get());
      out_.close();
      return;
    }
    written_ += static_cast<std::size_t>(sent);
    if (written_ < frame.size()) continue;
    written_ = 0;
    queue_.pop_front();
  }
  loop_.change(out_.get(), queue_.empty() ? 0 : POLLOUT);
}

// Whether what is left of `arrived` is frames.
bool channel::skip_noise(base::byte_view& arrived) {
  if (greeted_) return true;
  noise_.append(reinterpret_cast<const char*>(arrived.data()), arrived.size());
  const auto at = noise_.find(control::greeting);
  if (at == std::string::npos) {
    if (noise_.size() > most_noise) hang_up();
    return false;
  }
  greeted_ = true;
  const auto frames = noise_.size() - at - control::greeting.size();
  arrived = arrived.last(frames);
  noise_.resize(at);
  return true;
}

void channel::readable() {
  std::byte buffer[65536];
  const auto got = ::read(in_.get(), buffer, sizeof buffer);
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (got <= 0) return hang_up();
  base::byte_view arrived(buffer, static_cast<std::size_t>(got));
  if (!skip_noise(arrived)) return;
  parser_.feed(arrived);
  while (auto m = parser_.next()) {
    tell_.message(std::move(*m));
    if (!open()) return;
  }
  if (parser_.broken()) hang_up();
}

void channel::drain() {
  pollfd p{in_.get(), POLLIN, 0};
  while (open() && ::poll(&p, 1, 0) == 1) readable();
}

void channel::hang_up() {
  if (!open()) return;
  close();
  tell_.closed();
}

void channel::close() {
  if (in_.open()) loop_.forget(in_.get());
  if (out_.open()) loop_.forget(out_.get());
  in_.close();
  out_.close();
  queue_.clear();
}

}  // namespace weft::launch
