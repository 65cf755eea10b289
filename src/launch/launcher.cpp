#include "launch/launcher.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <cstring>

#include "base/text.h"
#include "terminal/complain.h"
#include "launch/processes.h"
#include "join/secrets.h"
#include "insight/statistics.h"
#include "join/words.h"

namespace weft::launch {

namespace {

constexpr std::size_t most_connecting = 64;                          // agents that are being started at a time
constexpr base::nanoseconds patience_for_agent = 30 * base::second;  // to be started and to say so
constexpr base::nanoseconds patience_for_end = 10 * base::second;    // agents kill after 2 s and give up after 5 more
constexpr base::nanoseconds patience_for_commands = 2 * base::second;
constexpr base::nanoseconds patience_after_interrupt = 2 * base::second;  // once somebody pressed Ctrl-C

std::string broken_output(const char* what, int why) {
  if (why == EPIPE) return base::format("%s was closed; the job was ended", what);
  return base::format("%s cannot be written (%s); the job was ended", what, std::strerror(why));
}

bool same_file(int a, int b) {
  struct stat first, second;
  return ::fstat(a, &first) == 0 && ::fstat(b, &second) == 0 && first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

}  // namespace

run_launcher::run_launcher(run_plan plan)
    : plan_(std::move(plan)),
      nodes_(plan_.nodes()),
      out_(loop_, 1, plan_.tag_output, output_events("standard output")),
      input_(loop_, [this](base::byte_buffer piece) { links_[plan_.host_of[0]]->send(control::input{std::move(piece)}); }),
      audience_(loop_, [this](const control::ask_sample& question) { to_all(question); }) {
  if (!same_file(1, 2)) err_ = std::make_unique<run_output>(loop_, 2, plan_.tag_output, output_events("standard error"));
  sigset_t handled;
  sigemptyset(&handled);
  for (const int number : {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGTSTP, SIGUSR1}) {
    struct sigaction inherited;
    ::sigaction(number, nullptr, &inherited);
    if (number != SIGHUP || inherited.sa_handler != SIG_IGN) sigaddset(&handled, number);  // nohup stays nohup
  }
  sigprocmask(SIG_BLOCK, &handled, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGTTIN, SIG_IGN);  // reading in the background fails instead of stopping the job
  ::signal(SIGTTOU, SIG_IGN);
  launch::raise_open_files();
  signals_ = os::descriptor(::signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK));
  loop_.watch(signals_.get(), POLLIN, [this] { take_signals(); });

  for (std::uint32_t host = 0; host < plan_.hosts.size(); ++host)
    links_.push_back(std::make_unique<run_link>(
        loop_, plan_.hosts[host].name, plan_.agents[host],
        run_link::events{[this, host](control::message m) { from_agent(host, std::move(m)); },
                         [this, host] { host_lost(host, "its agent ended"); },
                         [this, host](const std::string& line) { say(links_[host]->host() + ": " + line); }}));
}

run_output::events run_launcher::output_events(const char* what) {
  return {[this](std::uint32_t host, std::uint32_t bytes) { links_[host]->send(control::output_credit{bytes}); },
          [this, what](int why) {
            if (decide(why == EPIPE ? 128 + SIGPIPE : terminal::status_failed, broken_output(what, why))) bring_down();
          }};
}

bool run_launcher::all_written() const {
  return out_.idle() && (!err_ || err_->idle());
}

void run_launcher::say(const std::string& text) const {
  if (plan_.verbose) terminal::complain(text);
}

int run_launcher::run() {
  if (auto s = runtime::make_secrets(job_.group, job_.key); !s) {
    terminal::complain(s.sentence());
    return terminal::status_failed;
  }
  if (!plan_.note.empty()) terminal::complain(plan_.note);
  if (plan_.timeout > 0)
    loop_.after(plan_.timeout, [this] {
      const auto limit = runtime::describe_duration(plan_.timeout);
      if (decide(124, "the job was ended because it ran longer than " + limit + ", its --timeout")) end_agents(false);
    });
  if (const auto trace = plan_.options.find("trace"); trace != plan_.options.end()) trace_.open(trace->second);
  start_more_agents();
  beat();
  if (plan_.stall_after > 0) watch_progress();
  while (!all_over() || (!given_up_on_output_ && !all_written())) loop_.turn();
  wait_for_commands();
  return finish();
}

// Not all at once: a machine has limits, and so have the daemons that let us in.
void run_launcher::start_more_agents() {
  const auto connecting = [this] {
    return std::count_if(links_.begin(), links_.end(), [](const auto& l) { return l->started() && !l->ready() && !l->over(); });
  };
  while (!verdict_ && next_link_ < links_.size() && connecting() < static_cast<std::ptrdiff_t>(most_connecting)) {
    auto& link = *links_[next_link_++];
    const int why = link.start();
    if (why != 0) {
      const auto command = link.command().empty() ? std::string("weft agent") : link.command()[0];
      if (decide(why == ENOENT ? 127 : 126,
                 base::format("the launcher command '%s' for host %s cannot be started (%s); check --launcher, or install it",
                              command.c_str(), link.host().c_str(), std::strerror(why))))
        bring_down();
      return;
    }
    say(base::format("host %s: starting its agent (pid %d)", link.host().c_str(), link.pid()));
    loop_.after(patience_for_agent, [this, &link] {
      if (link.ready() || link.over()) return;
      if (decide(terminal::status_failed,
                 base::format("host %s did not answer within %s; check that it is up and reachable", link.host().c_str(),
                              runtime::describe_duration(patience_for_agent).c_str())))
        bring_down();
    });
  }
}

// Only when every host has answered, so that a host that is not there costs the others nothing.
void run_launcher::start_nodes() {
  nodes_started_ = true;
  job_.nodes = plan_.nodes();
  job_.hosts = static_cast<std::uint32_t>(plan_.hosts.size());
  job_.host_of = plan_.host_of;
  job_.options = plan_.options;
  job_.arguments = plan_.program;
  job_.directory = plan_.directory;
  job_.environment = plan_.environment;
  job_.whole_lines = plan_.nodes() > 1 ? 1 : 0;
  for (std::uint32_t host = 0; host < links_.size(); ++host) {
    job_.host = host;
    links_[host]->send(job_);
  }
}

void run_launcher::take_signals() {
  signalfd_siginfo info;
  while (::read(signals_.get(), &info, sizeof info) == sizeof info) {
    if (info.ssi_signo == SIGCHLD)
      reap();
    else if (info.ssi_signo == SIGTSTP)
      suspend();
    else if (info.ssi_signo == SIGUSR1)
      roll_.to_be_told = true, call_roll();
    else
      interrupted(static_cast<int>(info.ssi_signo));
  }
}

void run_launcher::interrupted(int number) {
  const bool again = std::exchange(interrupted_, true);
  decide(128 + number, base::format("signal %d (%s) ended the job", number, strsignal(number)));
  loop_.after(patience_after_interrupt, [this] { given_up_on_output_ = true; });
  end_agents(again || ending_);
}

// Ctrl-Z: the launcher stops and the nodes go on. The agents are told, because silence would otherwise be a reason to end them.
void run_launcher::suspend() {
  to_all(control::heartbeat{0});
  loop_.after(100 * base::millisecond, [] { ::raise(SIGSTOP); });
}

void run_launcher::beat() {
  const bool was_stopped = base::now() - last_beat_ > 2 * control::between_heartbeats;
  last_beat_ = base::now();
  for (std::uint32_t host = 0; host < links_.size(); ++host) {
    auto& link = *links_[host];
    if (!link.remote() || !link.ready() || link.over()) continue;
    if (was_stopped) link.forgive_silence();
    if (base::now() - link.last_heard() > control::longest_silence_of_agent) {
      link.hang_up();
      host_lost(host, "it has not been heard of for " + runtime::describe_duration(control::longest_silence_of_agent));
    } else {
      link.send(control::heartbeat{});
    }
  }
  loop_.after(control::between_heartbeats, [this] { beat(); });
}

void run_launcher::reap() {
  int wait_status = 0;
  while (true) {
    const pid_t pid = ::waitpid(-1, &wait_status, WNOHANG);
    if (pid <= 0) return;
    for (auto& link : links_)
      if (link->pid() == pid) link->command_ended(wait_status);
  }
}

void run_launcher::end_agents(bool at_once) {
  const bool first = !std::exchange(ending_, true);
  for (auto& link : links_) {
    if (link->over()) continue;
    if (!link->started()) {
      link->set_over();
    } else if (link->ready()) {
      link->send(control::end_job{static_cast<std::uint8_t>(at_once)});
    } else {
      link->hang_up();  // it has no nodes yet
    }
  }
  if (first)
    loop_.after(patience_for_end, [this] {
      for (auto& link : links_)
        if (!link->over()) link->hang_up();
    });
}

bool run_launcher::all_over() const {
  return std::all_of(links_.begin(), links_.end(), [](const auto& l) { return l->over(); });
}

void run_launcher::wait_for_commands() {
  bool waited_enough = false;
  const auto timer = loop_.after(patience_for_commands, [&] { waited_enough = true; });
  const auto reaped = [this] { return std::all_of(links_.begin(), links_.end(), [](const auto& l) { return l->reaped(); }); };
  reap();
  while (!reaped() && !waited_enough) loop_.turn();
  loop_.cancel(timer);
  for (auto& link : links_) link->kill(SIGKILL);
}

int run_launcher::finish() {
  if (!document_.empty())
    if (auto written = runtime::write_document(plan_.options.at("stats"), document_); !written)
      decide(terminal::status_failed, written.sentence());
  if (trace_.is_open() && !trace_.flush())
    decide(terminal::status_failed, plan_.options.at("trace") + " cannot be written; is the disk full?");
  const auto& last = verdict_ ? verdict_ : afterthought_;
  if (!last) return 0;
  terminal::complain(last->sentence);
  return last->exit_status;
}

}  // namespace weft::launch
