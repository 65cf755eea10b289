#include "launch/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string_view>

#include "base/clock.h"
#include "base/text.h"
#include "launch/processes.h"

extern char** environ;

namespace weft::launch {
namespace {

// A fabric or an impairment chosen for other jobs is not meant for these.
std::vector<std::string> clean_environment(const subprocess::variables& more) {
  std::vector<std::string> all = more;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view text(*each);
    const auto name = text.substr(0, text.find('=') + 1);
    const bool replaced = std::any_of(more.begin(), more.end(), [&](const std::string& m) { return m.starts_with(name); });
    if (!replaced && !text.starts_with("WEFT_")) all.emplace_back(text);
  }
  return all;
}

base::nanoseconds after(double seconds) {
  return base::now() + static_cast<base::nanoseconds>(seconds * base::second);
}

}  // namespace

result<subprocess> subprocess::start(std::vector<std::string> words, errors how, const variables& more, input in) {
  int out[2], told[2] = {-1, -1};
  if (::pipe2(out, O_CLOEXEC) != 0) return base::system_failure("cannot make a pipe", errno);
  os::descriptor ours(out[0]);
  const os::descriptor its(out[1]), nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (in == input::told && ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, told) != 0)
    return base::system_failure("cannot make a pair of sockets", errno);
  os::descriptor teller(told[0]);
  const os::descriptor listener(told[1]);
  launch::spawn_request r;
  r.words = std::move(words);
  r.environment = clean_environment(more);
  r.in = in == input::told ? listener.get() : nothing.get();
  r.out = its.get();
  r.err = how == errors::shown ? STDERR_FILENO : nothing.get();
  r.ends_with_parent = true;
  const auto child = launch::spawn(r);
  if (child.pid < 0) return base::system_failure("cannot start " + r.words.front(), child.why);
  return subprocess(child.pid, std::move(ours), std::move(teller));
}

subprocess::subprocess(subprocess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      output_(std::move(other.output_)),
      input_(std::move(other.input_)),
      pending_(std::move(other.pending_)) {}

subprocess::~subprocess() {
  if (pid_ <= 0) return;
  ::kill(-pid_, SIGTERM);
  end();
}

int subprocess::end() {
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return status;
}

subprocess::got subprocess::next(base::nanoseconds deadline, std::string& line) {
  char buffer[65536];
  std::size_t length;
  while ((length = pending_.find('\n')) == std::string::npos) {
    const auto left = (deadline - base::now()) / base::millisecond;
    pollfd p{output_.get(), POLLIN, 0};
    if (left <= 0 || ::poll(&p, 1, static_cast<int>(left)) == 0) return got::late;
    const auto n = ::read(output_.get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return got::nothing_more;
    pending_.append(buffer, static_cast<std::size_t>(n));
  }
  line = pending_.substr(0, length);
  pending_.erase(0, length + 1);
  return got::line;
}

int subprocess::read(const std::function<void(const std::string&)>& line, double seconds) {
  const auto deadline = after(seconds);
  while (true) {
    std::string one;
    switch (next(deadline, one)) {
      case got::line: line(one); break;
      case got::nothing_more: return end();
      case got::late:
        ::kill(-pid_, SIGTERM);
        end();
        return -1;
    }
  }
}

std::optional<std::string> subprocess::next_line(double seconds) {
  std::string one;
  return next(after(seconds), one) == got::line ? std::optional(std::move(one)) : std::nullopt;
}

bool subprocess::tell(const std::string& line) {
  const auto text = line + "\n";
  return ::send(input_.get(), text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
}

std::string describe_end(int wait_status) {
  if (wait_status == -1) return "did not end in time";
  if (WIFSIGNALED(wait_status)) return base::format("was ended by signal %d", WTERMSIG(wait_status));
  return base::format("ended with status %d", WEXITSTATUS(wait_status));
}

bool installed(const std::string& program) {
  const char* path = std::getenv("PATH");
  return launch::find_program(program, ".", path ? path : "/usr/bin:/bin").exit_status == 0;
}

}  // namespace weft::launch
