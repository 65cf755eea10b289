// `weft top`: a running job, once a second, in a terminal.
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <memory>

#include "base/clock.h"
#include "base/text.h"
#include "cli/commands.h"
#include "launch/audience.h"
#include "cli/top/frame.h"

namespace weft::cli {
namespace {

constexpr base::nanoseconds between_frames = base::second, patience = base::second / 2;

struct top_request {
  std::string job;          // the process of its 'weft run'
  std::string frames = "";  // how many; none: until the job ends
};

// Processes that listen for an audience, of whichever user.
std::vector<pid_t> running_jobs() {
  std::vector<pid_t> all;
  std::ifstream sockets("/proc/net/unix");
  const auto prefix = "@" + launch::audience_name(0).substr(0, launch::audience_name(0).size() - 1);
  for (std::string line; std::getline(sockets, line);)
    if (const auto at = line.rfind(prefix); at != std::string::npos)
      if (const auto pid = base::parse_number(line.substr(at + prefix.size())))
        if (std::find(all.begin(), all.end(), static_cast<pid_t>(*pid)) == all.end()) all.push_back(static_cast<pid_t>(*pid));
  return all;
}

// The one that was asked for, or the only one that there is.
os::descriptor join(const std::string& asked_for) {
  std::string others;
  std::vector<os::descriptor> found;
  for (const pid_t pid : running_jobs()) {
    if (!asked_for.empty() && asked_for != std::to_string(pid)) continue;
    if (auto one = launch::join_audience(pid); one.open()) {
      found.push_back(std::move(one));
      others += " " + std::to_string(pid);
    }
  }
  if (found.empty() && !asked_for.empty())
    throw error(errc::invalid_argument,
                "there is no 'weft run' of yours with process id " + asked_for + "; 'weft top' alone finds the one that runs");
  if (found.empty()) throw error(errc::invalid_argument, "no 'weft run' of yours is running here; start one, then look at it");
  if (found.size() > 1)
    throw error(errc::invalid_argument, "several jobs are running; say which, by the process id of its 'weft run':" + others);
  return std::move(found.front());
}

// The other end of the launcher's socket.
class onlooker {
 public:
  explicit onlooker(os::descriptor socket) : socket_(std::move(socket)) {}

  // Asks all nodes and waits for their answers, for a moment; false: the job has ended.
  bool ask(top::samples& into) {
    const auto question = control::encode(control::ask_sample{++round_});
    if (::send(socket_.get(), question.data(), question.size(), MSG_NOSIGNAL) < 0) return false;
    const auto until = base::now() + patience;
    std::size_t answered = 0;
    while (into.empty() || answered < into.size()) {
      const auto left = (until - base::now()) / base::millisecond;
      pollfd p{socket_.get(), POLLIN, 0};
      if (left <= 0 || ::poll(&p, 1, static_cast<int>(left)) <= 0) return true;
      if (!receive(into, answered)) return false;
    }
    return true;
  }

 private:
  bool receive(top::samples& into, std::size_t& answered) {
    std::byte buffer[65536];
    const auto got = ::read(socket_.get(), buffer, sizeof buffer);
    if (got <= 0) return false;
    parser_.feed({buffer, static_cast<std::size_t>(got)});
    while (auto m = parser_.next()) {
      auto* s = std::get_if<control::sample>(&*m);
      if (!s || s->round != round_) continue;
      if (into.size() < s->nodes) into.resize(s->nodes);
      if (s->node >= into.size() || into[s->node]) continue;
      into[s->node] = std::move(*s);
      ++answered;
    }
    return !parser_.broken();
  }

  os::descriptor socket_;
  control::parser parser_;
  std::uint32_t round_ = 0;
};

void show(const std::vector<std::string>& lines, bool terminal, std::size_t width) {
  std::string all = terminal ? "\033[H" : "";
  for (const auto& line : lines) all += line.substr(0, width) + (terminal ? "\033[K\n" : "\n");
  if (terminal) all += "\033[J";
  std::fwrite(all.data(), 1, all.size(), stdout);
  std::fflush(stdout);
}

int look_on(const top_request& request) {
  auto left = request.frames.empty() ? std::uint64_t{0} - 1 : base::parse_number(request.frames).value_or(0);
  if (left == 0) {
    complain("-n " + request.frames + " is not a number of frames; write it like -n 5");
    return status_usage;
  }
  onlooker job(join(request.job));
  const bool terminal = ::isatty(STDOUT_FILENO) == 1;
  winsize size{};
  if (!terminal || ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row < 4)
    size = {.ws_row = 1000, .ws_col = 1000, .ws_xpixel = 0, .ws_ypixel = 0};
  if (terminal) std::fputs("\033[2J", stdout);
  top::samples before;
  if (!job.ask(before)) return 0;
  for (auto asked = base::now(); left > 0; --left) {
    const auto due = asked + between_frames;
    ::usleep(static_cast<useconds_t>(std::max<base::nanoseconds>(due - base::now(), 0) / base::microsecond));
    const auto at = base::now();
    top::samples now(before.size());
    if (!job.ask(now)) return 0;  // the job has ended
    show(top::frame(before, now, static_cast<double>(at - asked) / base::second, size.ws_row - 1u), terminal, size.ws_col);
    before = std::move(now);
    asked = at;
  }
  return 0;
}

}  // namespace

void add_top(CLI::App& weft, int& exit_status) {
  auto* command = weft.add_subcommand("top", "Look at a running job: what its nodes do, once a second, until it ends");
  const auto request = std::make_shared<top_request>();
  command->add_option("PID", request->job, "The process of its 'weft run'; default: the only one that you have running here");
  command->add_option("-n,--frames", request->frames, "End after so many seconds")->type_name("COUNT");
  command->callback([=, &exit_status] { exit_status = look_on(*request); });
}

}  // namespace weft::cli
