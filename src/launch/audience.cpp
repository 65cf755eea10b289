#include "launch/audience.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace weft::launch {

using os::descriptor;

namespace {

constexpr std::size_t most_here = 16;

struct abstract_address {
  explicit abstract_address(const std::string& name) {
    where.sun_family = AF_UNIX;
    std::memcpy(where.sun_path + 1, name.data(), std::min(name.size(), sizeof where.sun_path - 1));
    size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&where); }
  sockaddr_un where{};
  socklen_t size;
};

bool same_user(int fd) {
  ucred who{};
  socklen_t size = sizeof who;
  return ::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 && who.uid == ::geteuid();
}

}  // namespace

os::descriptor join_audience(pid_t launcher) {
  os::descriptor fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const abstract_address where(audience_name(launcher));
  if (!fd.open() || ::connect(fd.get(), where.get(), where.size) != 0 || !same_user(fd.get())) return {};
  return fd;
}

run_audience::run_audience(launch::reactor& loop, std::function<void(const control::ask_sample&)> asked)
    : loop_(loop), asked_(std::move(asked)), listener_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
  const abstract_address where(audience_name(::getpid()));
  if (listener_.open() && ::bind(listener_.get(), where.get(), where.size) == 0 && ::listen(listener_.get(), 4) == 0)
    loop_.watch(listener_.get(), POLLIN, [this] { accept(); });
  else
    listener_.close();
}

run_audience::~run_audience() {
  if (listener_.open()) loop_.forget(listener_.get());
}

void run_audience::accept() {
  os::descriptor in(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  std::erase_if(here_, [](const auto& c) { return !c->open(); });
  if (!in.open() || !same_user(in.get()) || here_.size() >= most_here) return;
  os::descriptor out(::fcntl(in.get(), F_DUPFD_CLOEXEC, 0));
  if (!out.open()) return;
  const auto heard = [this](control::message m) {
    if (const auto* question = std::get_if<control::ask_sample>(&m)) asked_(*question);
  };
  here_.push_back(std::make_unique<launch::channel>(loop_, std::move(in), std::move(out), launch::channel::events{heard, [] {}}));
}

void run_audience::tell(control::sample m) {
  const auto frame = launch::share(std::move(m));
  for (auto& c : here_)
    if (c->open() && c->idle()) c->send(frame);
}

}  // namespace weft::launch
