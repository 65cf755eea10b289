#include "launch/output.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

namespace weft::launch {
namespace {

mode_t kind_of(int fd) {
  struct stat about;
  return ::fstat(fd, &about) == 0 ? about.st_mode & S_IFMT : 0;
}

}  // namespace

run_output::run_output(launch::reactor& loop, int fd, bool tag, events tell)
    : loop_(loop), fd_(fd), tag_(tag), socket_(kind_of(fd) == S_IFSOCK), regular_(kind_of(fd) == S_IFREG), tell_(std::move(tell)) {
  loop_.watch(fd_, 0, [this] { writable(); });
}

void run_output::add(piece p) {
  if (broken_) return tell_.written(p.host, static_cast<std::uint32_t>(p.text.size()));
  pieces_.push_back(std::move(p));
  loop_.change(fd_, POLLOUT);
}

void run_output::render(const piece& p) {
  rendered_.clear();
  done_ = 0;
  const source from{p.node, p.stream};
  if (open_line_of_ && *open_line_of_ != from) {
    rendered_ += '\n';
    open_line_of_.reset();
  }
  const std::string tag = tag_ ? "[" + std::to_string(p.node) + "] " : "";
  std::string_view rest = p.text;
  while (!rest.empty()) {
    if (!open_line_of_) rendered_ += tag;
    const auto end = std::min(rest.find('\n'), rest.size() - 1) + 1;
    rendered_ += rest.substr(0, end);
    if (rest[end - 1] == '\n')
      open_line_of_.reset();
    else
      open_line_of_ = from;
    rest.remove_prefix(end);
  }
}

// The stream may be shared with the process that started us, so it must not be made non-blocking. A pipe that is ready takes
// PIPE_BUF bytes without waiting, and so does a terminal.
bool run_output::write_some() {
  const auto left = rendered_.size() - done_;
  const auto* from = rendered_.data() + done_;
  const auto put = socket_ ? ::send(fd_, from, left, MSG_DONTWAIT | MSG_NOSIGNAL)
                           : ::write(fd_, from, regular_ ? left : std::min<std::size_t>(left, PIPE_BUF));
  if (put >= 0) {
    done_ += static_cast<std::size_t>(put);
    return true;
  }
  if (errno == EINTR || errno == EAGAIN) return false;
  broken_ = true;
  tell_.broken(errno);
  return false;
}

void run_output::writable() {
  if (!pieces_.empty() && !rendering_) {
    render(pieces_.front());
    rendering_ = true;
  }
  if (!pieces_.empty() && !broken_) write_some();
  if (broken_ || done_ == rendered_.size()) {
    rendering_ = false;
    const auto finished = std::move(pieces_.front());
    pieces_.pop_front();
    tell_.written(finished.host, static_cast<std::uint32_t>(finished.text.size()));
  }
  if (broken_) {
    for (const auto& p : pieces_) tell_.written(p.host, static_cast<std::uint32_t>(p.text.size()));
    pieces_.clear();
  }
  if (pieces_.empty()) loop_.change(fd_, 0);
}

}  // namespace weft::launch
