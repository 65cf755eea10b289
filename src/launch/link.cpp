#include "launch/link.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <csignal>

#include "launch/processes.h"

namespace weft::launch {

using os::descriptor;

namespace {

// How long after the end of the channel the command may take to say why: its last words and its exit status make a better sentence.
constexpr base::nanoseconds patience_for_reason = base::second;

constexpr std::size_t longest_error_line = 1000;

}  // namespace

run_link::run_link(launch::reactor& loop, std::string host, std::vector<std::string> command, events tell)
    : loop_(loop), host_(std::move(host)), command_(std::move(command)), tell_(std::move(tell)) {}

run_link::~run_link() {
  if (errors_.open()) loop_.forget(errors_.get());
}

int run_link::start() {
  int sockets[2], error_pipe[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) return errno;
  os::descriptor ours(sockets[0]), theirs(sockets[1]);
  if (::pipe2(error_pipe, O_CLOEXEC) != 0) return errno;
  errors_ = os::descriptor(error_pipe[0]);
  const os::descriptor their_errors(error_pipe[1]);

  launch::spawn_request request;
  request.words = command_;
  if (command_.empty()) {
    request.file = "/proc/self/exe";
    request.words = {"weft", "agent"};
  }
  request.in = request.out = theirs.get();
  request.err = their_errors.get();
  request.own_session = true;  // the terminal's signals and questions are for the launcher alone
  const auto result = launch::spawn(request);
  if (result.pid < 0) {
    over_ = true;
    return result.why;
  }
  pid_ = result.pid;
  os::descriptor writes(::fcntl(ours.get(), F_DUPFD_CLOEXEC, 3));
  channel_ = std::make_unique<launch::channel>(loop_, std::move(ours), std::move(writes),
                                               launch::channel::events{[this](control::message m) {
                                                                         last_heard_ = base::now();
                                                                         tell_.message(std::move(m));
                                                                       },
                                                                       [this] { channel_closed(); }});
  channel_->expect_greeting();
  os::never_block(errors_.get());
  loop_.watch(errors_.get(), POLLIN, [this] { stderr_readable(); });
  return 0;
}

void run_link::send(launch::shared_frame frame) {
  if (channel_ && channel_->open()) channel_->send(std::move(frame));
}

std::string run_link::last_words() const {
  if (!last_error_.empty()) return last_error_;
  if (!channel_ || channel_->greeted()) return {};
  const auto& said = channel_->noise();
  const auto end = said.find_last_not_of(" \r\n");
  if (end == std::string::npos) return {};
  const auto begin = said.find_last_of("\r\n", end);
  return said.substr(begin == std::string::npos ? 0 : begin + 1, end - (begin == std::string::npos ? 0 : begin + 1) + 1);
}

void run_link::stderr_readable() {
  char buffer[4096];
  const auto got = ::read(errors_.get(), buffer, sizeof buffer);
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (got <= 0) {
    loop_.forget(errors_.get());
    errors_.close();
    return;
  }
  for (const char c : std::string_view(buffer, static_cast<std::size_t>(got))) {
    if (c != '\n' && c != '\r') {
      if (error_line_.size() < longest_error_line) error_line_ += c;
      continue;
    }
    if (error_line_.empty()) continue;
    tell_.noise(error_line_);
    last_error_ = std::exchange(error_line_, {});
  }
}

void run_link::channel_closed() {
  closed_ = true;
  if (over_) return;
  if (reaped_) return tell_lost();
  loop_.after(patience_for_reason, [this] { tell_lost(); });
}

void run_link::command_ended(int wait_status) {
  wait_status_ = wait_status;
  pollfd p{errors_.get(), POLLIN, 0};
  while (errors_.open() && ::poll(&p, 1, 0) == 1) stderr_readable();
  if (!error_line_.empty()) last_error_ = std::exchange(error_line_, {});
  reaped_ = true;  // only now: the end of the channel, if it is found next, is told with the reason
  if (channel_) channel_->drain();
  if (closed_) tell_lost();
}

void run_link::tell_lost() {
  if (over_ || std::exchange(told_, true)) return;
  over_ = true;
  tell_.lost();
}

void run_link::kill(int number) {
  if (started() && !reaped_) ::kill(-pid_, number);
}

void run_link::hang_up() {
  over_ = true;
  kill(SIGKILL);
  if (channel_) channel_->close();
}

}  // namespace weft::launch
