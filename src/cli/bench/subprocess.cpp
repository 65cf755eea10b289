#include "cli/bench/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string_view>

#include "base/clock.h"
#include "base/text.h"
#include "runtime/descriptor.h"
#include "runtime/processes.h"

extern char** environ;

namespace weft::cli::bench {
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

}  // namespace

result<subprocess> subprocess::start(std::vector<std::string> words, errors how, const variables& more) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return base::system_failure("cannot make a pipe", errno);
  const runtime::descriptor write_end(ends[1]), nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
  runtime::spawn_request r;
  r.words = std::move(words);
  r.environment = clean_environment(more);
  r.in = nothing.get();
  r.out = write_end.get();
  r.err = how == errors::shown ? STDERR_FILENO : nothing.get();
  r.ends_with_parent = true;
  const auto child = runtime::spawn(r);
  if (child.pid < 0) {
    ::close(ends[0]);
    return base::system_failure("cannot start " + r.words.front(), child.why);
  }
  return subprocess(child.pid, ends[0]);
}

subprocess::subprocess(subprocess&& other) noexcept : pid_(std::exchange(other.pid_, -1)), output_(std::exchange(other.output_, -1)) {}

subprocess::~subprocess() {
  if (pid_ > 0) {
    ::kill(-pid_, SIGTERM);
    end();
  }
  if (output_ >= 0) ::close(output_);
}

int subprocess::end() {
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return status;
}

int subprocess::read(const std::function<void(const std::string&)>& line, double seconds) {
  const auto deadline = base::now() + static_cast<base::nanoseconds>(seconds * base::second);
  std::string pending;
  char buffer[65536];
  while (true) {
    const auto left = (deadline - base::now()) / base::millisecond;
    pollfd p{output_, POLLIN, 0};
    if (left <= 0 || ::poll(&p, 1, static_cast<int>(left)) == 0) {
      ::kill(-pid_, SIGTERM);
      end();
      return -1;
    }
    const auto n = ::read(output_, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return end();
    pending.append(buffer, static_cast<std::size_t>(n));
    for (std::size_t newline; (newline = pending.find('\n')) != std::string::npos; pending.erase(0, newline + 1))
      line(pending.substr(0, newline));
  }
}

std::string describe_end(int wait_status) {
  if (wait_status == -1) return "did not end in time";
  if (WIFSIGNALED(wait_status)) return base::format("was ended by signal %d", WTERMSIG(wait_status));
  return base::format("ended with status %d", WEXITSTATUS(wait_status));
}

bool installed(const std::string& program) {
  const char* path = std::getenv("PATH");
  return runtime::find_program(program, ".", path ? path : "/usr/bin:/bin").exit_status == 0;
}

}  // namespace weft::cli::bench
