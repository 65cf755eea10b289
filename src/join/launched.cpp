#include "join/launched.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>

#include "base/text.h"
#include "join/build_id.h"
#include "join/control.h"
#include "os/descriptor.h"
#include "join/version.h"
#include "join/words.h"

namespace weft::runtime {
namespace {

constexpr base::nanoseconds patience_for_welcome = 60 * base::second;
constexpr base::nanoseconds patience_for_names = base::second;  // to learn who is missing, after an exchange ran out of time
constexpr base::nanoseconds grace_without_launcher = base::second;

status send_all(int fd, base::byte_view frame) {
  while (!frame.empty()) {
    const auto sent = ::send(fd, frame.data(), frame.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return {errc::system, "the launcher of this job is gone, so the job cannot go on; look at what 'weft run' said"};
    frame = frame.subspan(static_cast<std::size_t>(sent));
  }
  return {};
}

enum class reading { data, end, stopped, timed_out };

// Waits for bytes from `fd`, or for `stop` to be signalled.
reading receive_some(int fd, int stop, base::nanoseconds limit, control::parser& into) {
  pollfd watched[2] = {{fd, POLLIN, 0}, {stop, POLLIN, 0}};
  const int milliseconds = limit < 0 ? -1 : static_cast<int>(limit / base::millisecond);
  const int ready = ::poll(watched, 2, milliseconds);
  if (ready == 0) return reading::timed_out;
  if (ready < 0 || watched[1].revents != 0) return reading::stopped;
  std::byte buffer[65536];
  const auto got = ::recv(fd, buffer, sizeof buffer, 0);
  if (got < 0 && errno == EINTR) return reading::stopped;
  if (got <= 0) return reading::end;
  into.feed(base::byte_view(buffer, static_cast<std::size_t>(got)));
  return reading::data;
}

class launched final : public bootstrap {
 public:
  launched(os::descriptor socket, os::descriptor wake, identity who, control::parser rest)
      : socket_(std::move(socket)), wake_(std::move(wake)), who_(std::move(who)), parser_(std::move(rest)) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);  // the program's signals are for the program's threads
    listener_ = std::thread([this] { listen(); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  ~launched() override { stop(); }

  const identity& who() const override { return who_; }
  const char* way() const override { return "weft run"; }
  result<std::vector<base::byte_buffer>> exchange(base::byte_view mine, base::nanoseconds limit) override;
  void watch(std::function<void(node_id, const std::string&)> told) override;
  void report(node_id peer, const std::string& how) override;
  bool give_up(const std::string& sentence) override;
  void on_roll_call(std::function<control::presence()> present) override;
  void on_sample(std::function<std::string()> tell) override;
  bool call_roll() override { return send(control::ask_roll_call{who_.self}).ok(); }
  bool deliver(const std::string& document) override { return send(control::document{who_.self, document}).ok(); }
  bool deliver_trace(const std::string& piece) override { return send(control::trace_part{who_.self, piece}).ok(); }
  status leave() override;

 private:
  struct failure {
    node_id node;
    std::string how;
  };

  void listen();
  void take(control::message m);
  void tell_watcher();
  void answer(const control::roll_call& m);
  void answer(const control::ask_sample& m);
  void die_with_the_launcher();
  status send(const control::message& m);
  status say_who_is_missing(std::unique_lock<std::mutex>& held, std::uint32_t round, base::nanoseconds limit);
  void wake() { eventfd_write(wake_.get(), 1); }
  void stop();

  os::descriptor socket_, wake_;
  const identity who_;
  control::parser parser_;  // of the listener alone
  std::thread listener_;

  std::mutex sending_;     // guards the order of frames on the socket
  std::mutex exchanging_;  // one exchange at a time
  std::mutex presenting_;  // guards what follows, also while it is called
  std::function<control::presence()> present_;
  std::function<std::string()> sample_;

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::uint32_t rounds_ = 0;
  std::optional<control::gathered> gathered_;
  std::optional<control::missing> missing_;
  std::optional<failure> first_failure_;
  std::deque<failure> untold_;
  std::function<void(node_id, const std::string&)> told_;
  bool launcher_gone_ = false, stopping_ = false, left_ = false;
};

status launched::send(const control::message& m) {
  const auto frame = control::encode(m);
  if (frame.empty()) return {errc::too_large, "a control message may carry 16 MiB"};
  const std::lock_guard held(sending_);
  return send_all(socket_.get(), frame);
}

result<std::vector<base::byte_buffer>> launched::exchange(base::byte_view mine, base::nanoseconds limit) {
  if (mine.size() > most_exchanged / who_.nodes)
    return {errc::too_large, base::format("node %u: a block of %zu bytes is too large to exchange among %u nodes; at most %zu fit",
                                          who_.self, mine.size(), who_.nodes, most_exchanged / who_.nodes)};
  const std::lock_guard one_at_a_time(exchanging_);
  const auto round = ++rounds_;
  if (auto s = send(control::card{who_.self, round, {mine.begin(), mine.end()}}); !s) return s;

  std::unique_lock held(mutex_);
  const auto arrived = [&] { return gathered_ && gathered_->round == round; };
  changed_.wait_for(held, std::chrono::nanoseconds(limit),
                    [&] { return arrived() || first_failure_ || launcher_gone_ || stopping_; });
  if (arrived()) {
    auto cards = std::move(gathered_->cards);
    gathered_.reset();
    return cards;
  }
  if (first_failure_)
    return {errc::node_failed, base::format("node %u: node %u %s", who_.self, first_failure_->node, first_failure_->how.c_str())};
  if (launcher_gone_) return {errc::node_failed, base::format("node %u: the launcher of this job is gone", who_.self)};
  if (stopping_) return {errc::invalid_argument, base::format("node %u: this node has left the job", who_.self)};
  return say_who_is_missing(held, round, limit);
}

status launched::say_who_is_missing(std::unique_lock<std::mutex>& held, std::uint32_t round, base::nanoseconds limit) {
  missing_.reset();
  held.unlock();
  const auto sent = send(control::ask_missing{who_.self, round});
  held.lock();
  if (sent) changed_.wait_for(held, std::chrono::nanoseconds(patience_for_names), [&] { return missing_ || launcher_gone_; });
  const auto who = missing_ ? name_nodes(missing_->absent) : std::string("the others");
  return {errc::timed_out,
          base::format("node %u: waited %s for %s to meet at start-up exchange %u; look whether they hang or are slow", who_.self,
                       describe_duration(limit).c_str(), who.c_str(), round)};
}

void launched::watch(std::function<void(node_id, const std::string&)> told) {
  {
    const std::lock_guard held(mutex_);
    told_ = std::move(told);
  }
  wake();  // the listener tells, so that the callback never runs on the caller's thread
}

void launched::report(node_id peer, const std::string& how) {
  send(control::report{who_.self, peer, how}).ignore();  // without a launcher there is nobody to tell, and this node ends by itself
}

bool launched::give_up(const std::string& sentence) {
  return send(control::give_up{who_.self, sentence}).ok();
}

void launched::on_roll_call(std::function<control::presence()> present) {
  const std::lock_guard held(presenting_);
  present_ = std::move(present);
}

// On the listener's thread, so that a node answers whatever its own threads are stuck in. One that is starting or ending has no threads
// to speak of.
void launched::answer(const control::roll_call& m) {
  const std::lock_guard held(presenting_);
  auto p = present_ ? present_() : control::presence{};
  p.node = who_.self;
  p.round = m.round;
  send(p).ignore();  // without a launcher nobody asks any more
}

void launched::on_sample(std::function<std::string()> tell) {
  const std::lock_guard held(presenting_);
  sample_ = std::move(tell);
}

void launched::answer(const control::ask_sample& m) {
  const std::lock_guard held(presenting_);
  if (!present_ || !sample_) return;  // it is starting or ending
  send(control::sample{who_.self, who_.nodes, m.round, control::encode(present_()), sample_()}).ignore();
}

status launched::leave() {
  {
    const std::lock_guard held(mutex_);
    if (std::exchange(left_, true)) return {};
  }
  auto s = send(control::leave{who_.self});
  stop();
  return s;
}

void launched::stop() {
  {
    const std::lock_guard held(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  wake();
  if (listener_.joinable()) listener_.join();
}

void launched::listen() {
  while (true) {
    while (auto m = parser_.next()) take(std::move(*m));
    tell_watcher();
    {
      const std::lock_guard held(mutex_);
      if (stopping_) return;
    }
    const auto got = receive_some(socket_.get(), wake_.get(), -1, parser_);
    if (got == reading::stopped) {
      eventfd_t ignored;
      eventfd_read(wake_.get(), &ignored);
    }
    if (got == reading::end || parser_.broken()) return die_with_the_launcher();
  }
}

void launched::take(control::message m) {
  if (auto* asked = std::get_if<control::roll_call>(&m)) return answer(*asked);
  if (auto* asked = std::get_if<control::ask_sample>(&m)) return answer(*asked);
  {
    const std::lock_guard held(mutex_);
    if (auto* all = std::get_if<control::gathered>(&m)) {
      gathered_ = std::move(*all);
    } else if (auto* absent = std::get_if<control::missing>(&m)) {
      missing_ = std::move(*absent);
    } else if (auto* failed = std::get_if<control::notice>(&m); failed != nullptr && failed->node != who_.self) {
      if (!first_failure_) first_failure_ = failure{failed->node, failed->how};
      untold_.push_back({failed->node, failed->how});
    }
  }
  changed_.notify_all();
}

void launched::tell_watcher() {
  while (true) {
    std::unique_lock held(mutex_);
    if (!told_ || untold_.empty() || stopping_) return;
    const auto told = told_;
    const auto next = std::move(untold_.front());
    untold_.pop_front();
    held.unlock();
    told(next.node, next.how);
  }
}

// A node that lost its launcher can neither be ended from outside nor reach an orderly end: nobody would know of it. It gets a
// moment to say so by itself.
void launched::die_with_the_launcher() {
  {
    std::unique_lock held(mutex_);
    launcher_gone_ = true;
    changed_.notify_all();
    if (changed_.wait_for(held, std::chrono::nanoseconds(grace_without_launcher), [this] { return stopping_; })) return;
  }
  ::kill(::getpid(), SIGKILL);
}

// The socket that the agent made, taken over from the environment so that no child of this process takes it for its own.
result<os::descriptor> inherited_socket() {
  const std::string text = std::getenv(control_variable);
  ::unsetenv(control_variable);
  const auto number = base::parse_number(text);
  struct stat about;
  if (!number || *number > 1'000'000 || ::fstat(static_cast<int>(*number), &about) != 0 || !S_ISSOCK(about.st_mode))
    return {errc::unavailable, "the control socket that 'weft run' gave this node (descriptor " + text +
                                   ") is not open; start the program directly, not through something that closes descriptors"};
  ::fcntl(static_cast<int>(*number), F_SETFD, FD_CLOEXEC);
  return os::descriptor(static_cast<int>(*number));
}

identity identity_of(control::welcome&& w) {
  identity who;
  who.self = w.self;
  who.nodes = w.nodes;
  who.group = w.group;
  who.key = w.key;
  who.host = w.host;
  who.hosts = w.hosts;
  who.host_of = std::move(w.host_of);
  who.options = std::move(w.options);
  return who;
}

}  // namespace

result<std::unique_ptr<bootstrap>> join_launched() {
  auto socket = inherited_socket();
  if (!socket) return socket.failure();
  os::descriptor wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake.open()) return base::system_failure("cannot make an eventfd", errno);
  if (auto s = send_all(socket->get(), control::encode(control::hello{0, version, build_id()})); !s) return s;

  control::parser parser;
  const auto deadline = base::now() + patience_for_welcome;
  while (true) {
    auto m = parser.next();
    if (m) {
      if (auto* no = std::get_if<control::refuse>(&*m)) return {errc::unavailable, no->reason};
      auto* yes = std::get_if<control::welcome>(&*m);
      if (yes == nullptr) continue;
      return std::unique_ptr<bootstrap>(
          std::make_unique<launched>(std::move(*socket), std::move(wake), identity_of(std::move(*yes)), std::move(parser)));
    }
    const auto got = receive_some(socket->get(), -1, std::max<base::nanoseconds>(0, deadline - base::now()), parser);
    if (got == reading::end || parser.broken()) return {errc::node_failed, "the launcher of this job is gone; start the job again"};
    if (got == reading::timed_out)
      return {errc::timed_out,
              "the launcher of this job did not answer for " + describe_duration(patience_for_welcome) + "; is it stopped?"};
  }
}

}  // namespace weft::runtime
