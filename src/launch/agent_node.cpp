#include "launch/agent_node.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace weft::launch {

using os::descriptor;

namespace {

constexpr int reads_in_a_row = 4;  // before other nodes get their turn

bool make_pipe(os::descriptor& reads, os::descriptor& writes) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return false;
  reads = os::descriptor(ends[0]);
  writes = os::descriptor(ends[1]);
  return true;
}

}  // namespace

agent_node::agent_node(launch::reactor& loop, std::uint32_t number, bool whole_lines, events tell)
    : loop_(loop), number_(number), whole_lines_(whole_lines), tell_(std::move(tell)) {}

agent_node::~agent_node() {
  abandon_output();
  close_input();
}

launch::spawned agent_node::start(launch::spawn_request request) {
  os::descriptor to_node, out, err;
  int sockets[2];
  const bool has_input = number_ == 0;
  if (!make_pipe(streams_[0].from, out) || !make_pipe(streams_[1].from, err) ||
      ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
    return {-1, errno, false};
  os::descriptor ours(sockets[0]), theirs(sockets[1]);
  if (has_input ? !make_pipe(to_node, input_) : !(to_node = os::descriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC))).open())
    return {-1, errno, false};

  request.in = to_node.get();
  request.out = out.get();
  request.err = err.get();
  request.control = theirs.get();
  const auto result = launch::spawn(request);
  if (result.pid < 0) return result;
  pid_ = result.pid;

  os::descriptor writes(::fcntl(ours.get(), F_DUPFD_CLOEXEC, 3));
  control_ = std::make_unique<launch::channel>(
      loop_, std::move(ours), std::move(writes),
      launch::channel::events{[this](control::message m) { tell_.message(std::move(m)); }, [] {}});
  for (std::size_t i = 0; i < 2; ++i) {
    os::never_block(streams_[i].from.get());
    loop_.watch(streams_[i].from.get(), POLLIN, [this, i] { pump(i); });
  }
  if (has_input) {
    os::never_block(input_.get());
    loop_.watch(input_.get(), 0, [this] { write_input(); });
  }
  return result;
}

void agent_node::send(launch::shared_frame frame) {
  if (control_ && control_->open()) control_->send(std::move(frame));
}

void agent_node::pass_on(std::size_t which, std::string text) {
  if (!text.empty()) tell_.output(static_cast<std::uint8_t>(which + 1), std::move(text));
}

// Reads while there is something and the launcher takes it. After the end of the process only what was in the pipe by then is its
// own; a child that it left behind may go on writing there for ever.
void agent_node::pump(std::size_t which) {
  auto& s = streams_[which];
  for (int turns = 0; s.from.open() && (ended_ || turns < reads_in_a_row); ++turns) {
    if (ended_ && s.left == 0) return close_stream(which);
    if (tell_.credit() == 0) return loop_.change(s.from.get(), 0);
    loop_.change(s.from.get(), POLLIN);
    char buffer[launch::line_buffer::most_bytes];
    const auto got = ::read(s.from.get(), buffer, ended_ ? std::min(s.left, sizeof buffer) : sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN && !ended_) return;
    if (got <= 0) return close_stream(which);
    s.left -= std::min(s.left, static_cast<std::size_t>(got));
    s.lines.add(std::string_view(buffer, static_cast<std::size_t>(got)));
    pass_on(which, whole_lines_ ? s.lines.take_lines() : s.lines.take_all());
  }
}

void agent_node::pump_output() {
  for (std::size_t i = 0; i < 2; ++i) pump(i);
}

void agent_node::close_stream(std::size_t which) {
  auto& s = streams_[which];
  if (!s.from.open()) return;
  pass_on(which, s.lines.take_all());
  loop_.forget(s.from.get());
  s.from.close();
  if (over() && !std::exchange(told_over_, true)) tell_.over();
}

void agent_node::process_ended() {
  if (control_) {
    control_->drain();  // it may have left the job just before
    control_->close();
  }
  ended_ = true;
  close_input();
  for (auto& s : streams_) {
    int waiting = 0;
    if (s.from.open() && ::ioctl(s.from.get(), FIONREAD, &waiting) == 0) s.left = static_cast<std::size_t>(waiting);
  }
  pump_output();
  if (over() && !std::exchange(told_over_, true)) tell_.over();
}

void agent_node::abandon_output() {
  for (auto& s : streams_) {
    if (!s.from.open()) continue;
    loop_.forget(s.from.get());
    s.from.close();
  }
}

void agent_node::add_input(base::byte_view data) {
  if (!input_.open()) return;
  if (data.empty()) input_ended_ = true;
  input_pending_.append(reinterpret_cast<const char*>(data.data()), data.size());
  write_input();
}

void agent_node::write_input() {
  while (input_.open() && !input_pending_.empty()) {
    const auto put = ::write(input_.get(), input_pending_.data(), input_pending_.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0 && errno == EAGAIN) break;
    if (put < 0) return close_input();  // it does not read any more
    input_pending_.erase(0, static_cast<std::size_t>(put));
    tell_.input_taken(static_cast<std::uint32_t>(put));
  }
  if (input_pending_.empty() && input_ended_) return close_input();
  if (input_.open()) loop_.change(input_.get(), input_pending_.empty() ? 0 : POLLOUT);
}

void agent_node::close_input() {
  if (!input_.open()) return;
  loop_.forget(input_.get());
  input_.close();
  input_pending_.clear();
}

}  // namespace weft::launch
