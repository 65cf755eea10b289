#include "launch/agent_loop.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <map>

#include "base/text.h"
#include "join/launched.h"
#include "launch/processes.h"
#include "join/version.h"

namespace weft::launch {

using os::descriptor;

namespace {

constexpr base::nanoseconds grace = 2 * base::second;                 // between SIGTERM and SIGKILL
constexpr base::nanoseconds between_kills = 100 * base::millisecond;  // a process may fork while it is being killed
constexpr int most_kills = 50;                                        // then it hangs in the kernel, and nobody can end it
constexpr base::nanoseconds patience_for_output = 2 * base::second;   // of a job that was ended

bool has_children() {
  siginfo_t ignored;
  return ::waitid(P_ALL, 0, &ignored, WEXITED | WNOHANG | WNOWAIT) == 0;
}

}  // namespace

agent::agent(rlimit open_files) : open_files_(open_files) {
  sigset_t handled;
  sigemptyset(&handled);
  for (const int number : {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGUSR1}) sigaddset(&handled, number);
  sigprocmask(SIG_BLOCK, &handled, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  signals_ = os::descriptor(::signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK));
  loop_.watch(signals_.get(), POLLIN, [this] { take_signals(); });
  // Out of the way of the numbers that nodes get as their standard streams, and not inherited by them.
  os::descriptor in(::fcntl(0, F_DUPFD_CLOEXEC, 3)), out(::fcntl(1, F_DUPFD_CLOEXEC, 3));
  launcher_ = std::make_unique<launch::channel>(
      loop_, std::move(in), std::move(out),
      launch::channel::events{[this](control::message m) { from_launcher(std::move(m)); }, [this] { launcher_gone(); }});
}

int agent::run() {
  launcher_->send_raw(control::greeting);
  launcher_->send(control::ready{runtime::version});
  while (!done_) {
    loop_.turn();
    check_end();
  }
  return 0;
}

void agent::take_signals() {
  signalfd_siginfo info;
  while (::read(signals_.get(), &info, sizeof info) == sizeof info) {
    if (info.ssi_signo == SIGCHLD)
      reap();
    else if (info.ssi_signo != SIGUSR1)  // a question to the launcher that was sent to all of weft's processes
      end_nodes(false);
  }
}

void agent::reap() {
  int wait_status = 0;
  while (const pid_t pid = ::waitpid(-1, &wait_status, WNOHANG)) {
    if (pid < 0) return;
    const auto node = std::find_if(nodes_.begin(), nodes_.end(), [pid](const auto& n) { return n->pid() == pid; });
    if (node == nodes_.end()) continue;  // an orphan
    (*node)->process_ended();
    launcher_->send(control::exited{(*node)->number(), wait_status});
  }
}

agent_node* agent::find(std::uint32_t number) {
  const auto node = std::find_if(nodes_.begin(), nodes_.end(), [number](const auto& n) { return n->number() == number; });
  return node == nodes_.end() ? nullptr : node->get();
}

void agent::from_launcher(control::message m) {
  if (auto* job = std::get_if<control::start_job>(&m)) {
    if (started_) return;
    job_ = std::move(*job);
    start_nodes();
  } else if (auto* piece = std::get_if<control::input>(&m)) {
    if (auto* node = find(0)) node->add_input(piece->data);
  } else if (auto* more = std::get_if<control::output_credit>(&m)) {
    credit_ += more->count;
    for (auto& node : nodes_) node->pump_output();
  } else if (auto* yes = std::get_if<control::admit>(&m)) {
    welcome(yes->node);
  } else if (auto* no = std::get_if<control::refuse>(&m)) {
    if (auto* node = find(no->node)) node->send(launch::share(*no));
  } else if (auto* all = std::get_if<control::gathered>(&m)) {
    tell_joined(launch::share(std::move(*all)));
  } else if (auto* failed = std::get_if<control::notice>(&m)) {
    notices_.push_back(launch::share(*failed));
    tell_joined(notices_.back());
  } else if (auto* absent = std::get_if<control::missing>(&m)) {
    if (auto* node = find(absent->node)) node->send(launch::share(*absent));
  } else if (auto* roll = std::get_if<control::roll_call>(&m)) {
    tell_joined(launch::share(*roll));
  } else if (auto* question = std::get_if<control::ask_sample>(&m)) {
    tell_joined(launch::share(*question));
  } else if (auto* end = std::get_if<control::end_job>(&m)) {
    end_nodes(end->at_once != 0);
  } else if (auto* sign = std::get_if<control::heartbeat>(&m)) {
    heard_from_launcher(*sign);
  }
}

// A host that is cut off from the launcher must not keep its nodes for ever; only the connection's own end is sooner.
void agent::heard_from_launcher(const control::heartbeat& m) {
  loop_.cancel(silence_);
  if (m.watched != 0) silence_ = loop_.after(control::longest_silence_of_launcher, [this] { launcher_gone(); });
  launcher_->send(m);
}

// Which node it comes from is what the agent knows, not what the message says.
void agent::from_node(agent_node& node, control::message m) {
  if (auto* hello = std::get_if<control::hello>(&m)) {
    if (!greeted_.insert(node.number()).second)
      return node.send(launch::share(control::refuse{
          node.number(),
          base::format("node %u has already been part of this job, and a job is joined once; start the second program with a "
                       "'weft run' of its own",
                       node.number())}));
    hello->node = node.number();
    launcher_->send(*hello);
  } else if (auto* card = std::get_if<control::card>(&m)) {
    card->node = node.number();
    launcher_->send(std::move(*card));
  } else if (auto* leave = std::get_if<control::leave>(&m)) {
    leave->node = node.number();
    joined_.erase(node.number());
    launcher_->send(*leave);
  } else if (auto* report = std::get_if<control::report>(&m)) {
    report->node = node.number();
    launcher_->send(*report);
  } else if (auto* reason = std::get_if<control::give_up>(&m)) {
    reason->node = node.number();
    launcher_->send(*reason);
  } else if (auto* question = std::get_if<control::ask_missing>(&m)) {
    question->node = node.number();
    launcher_->send(*question);
  } else if (auto* here = std::get_if<control::presence>(&m)) {
    here->node = node.number();
    launcher_->send(std::move(*here));
  } else if (auto* ask = std::get_if<control::ask_roll_call>(&m)) {
    ask->node = node.number();
    launcher_->send(*ask);
  } else if (auto* document = std::get_if<control::document>(&m)) {
    document->node = node.number();
    launcher_->send(std::move(*document));
  } else if (auto* counted = std::get_if<control::sample>(&m)) {
    counted->node = node.number();
    launcher_->send(std::move(*counted));
  } else if (auto* part = std::get_if<control::trace_part>(&m)) {
    part->node = node.number();
    launcher_->send(std::move(*part));
  }
}

void agent::welcome(std::uint32_t number) {
  auto* node = find(number);
  if (node == nullptr) return;
  joined_.insert(number);
  control::welcome w;
  w.self = number;
  w.nodes = job_.nodes;
  w.host = job_.host;
  w.hosts = job_.hosts;
  w.group = job_.group;
  w.key = job_.key;
  w.host_of = job_.host_of;
  w.options = job_.options;
  node->send(launch::share(w));
  for (const auto& notice : notices_) node->send(notice);
}

void agent::tell_joined(launch::shared_frame frame) {
  for (const auto number : joined_)
    if (auto* node = find(number)) node->send(frame);
}

agent_node::events agent::events_of(std::uint32_t number) {
  return {
      [this, number](control::message m) {
        if (auto* node = find(number)) from_node(*node, std::move(m));
      },
      [this, number](std::uint8_t stream, std::string text) {
        credit_ -= static_cast<std::int64_t>(text.size());
        const auto data = base::bytes_of(text);
        launcher_->send(control::output{number, stream, {data.begin(), data.end()}});
      },
      [this] { return static_cast<std::size_t>(std::max<std::int64_t>(0, credit_)); },
      [this](std::uint32_t count) { launcher_->send(control::input_credit{count}); },
      [] {},
  };
}

// The agent's own, with what the launcher sends over it.
std::vector<std::string> agent::environment() const {
  std::map<std::string, std::string> all;
  const auto set = [&all](const std::string& text) {
    const auto equals = text.find('=');
    if (equals != std::string::npos) all[text.substr(0, equals)] = text.substr(equals + 1);
  };
  for (char** each = environ; *each != nullptr; ++each) set(*each);
  for (const auto& each : job_.environment) set(each);
  all.erase(runtime::node_variable);  // there is one if this job was started by a node of another
  set(base::format("%s=%u", runtime::nodes_variable, job_.nodes));
  set(base::format("%s=%d", runtime::control_variable, launch::inherited_descriptor));
  std::vector<std::string> list;
  for (const auto& [name, value] : all) list.push_back(name + "=" + value);
  return list;
}

void agent::start_nodes() {
  started_ = true;
  if (job_.options.count("lock-memory") != 0) {  // as far as this user may
    rlimit locked{};
    ::getrlimit(RLIMIT_MEMLOCK, &locked);
    locked.rlim_cur = locked.rlim_max;
    ::setrlimit(RLIMIT_MEMLOCK, &locked);
  }
  const auto variables = environment();
  std::string search_path = "/usr/local/bin:/usr/bin:/bin";
  for (const auto& v : variables)
    if (v.compare(0, 5, "PATH=") == 0) search_path = v.substr(5);
  const auto program =
      launch::find_program(job_.arguments.empty() ? std::string() : job_.arguments[0], job_.directory, search_path);
  for (std::uint32_t number = 0; number < job_.host_of.size(); ++number) {
    if (job_.host_of[number] != job_.host) continue;
    if (program.exit_status != 0) return launcher_->send(control::not_started{number, program.exit_status, program.reason});
    if (!start_node(number, program.path, variables)) return;
  }
}

bool agent::start_node(std::uint32_t number, const std::string& file, const std::vector<std::string>& variables) {
  auto node = std::make_unique<agent_node>(loop_, number, job_.whole_lines != 0, events_of(number));
  launch::spawn_request request;
  request.file = file;
  request.words = job_.arguments;
  request.environment = variables;
  request.environment->push_back(base::format("%s=%u", runtime::node_variable, number));
  request.directory = job_.directory;
  request.ends_with_parent = true;
  request.open_files = open_files_;
  const auto result = node->start(std::move(request));
  if (result.pid > 0) {
    launcher_->send(control::started{number, result.pid});
    nodes_.push_back(std::move(node));
    return true;
  }
  const auto reason = result.at_directory
                          ? base::format("the folder '%s' cannot be entered (%s); start the job from a folder that every host has",
                                         job_.directory.c_str(), std::strerror(result.why))
                          : base::format("'%s' cannot be started: %s", file.c_str(),
                                         result.why == ENOENT ? "the interpreter that its first line or its header names is missing"
                                                              : std::strerror(result.why));
  launcher_->send(control::not_started{number, result.at_directory ? 1 : 126, reason});
  return false;
}

void agent::launcher_gone() {
  for (auto& node : nodes_) node->abandon_output();  // there is nobody to read it
  end_nodes(false);
}

void agent::end_nodes(bool at_once) {
  if (at_once) kill_everything();
  if (std::exchange(ending_, true)) return;
  for (auto& node : nodes_) {
    if (!node->running()) continue;
    ::kill(-node->pid(), SIGTERM);
    ::kill(-node->pid(), SIGCONT);  // a stopped process would not even hear the first
  }
  if (!at_once) loop_.after(grace, [this] { kill_everything(); });
}

void agent::kill_everything() {
  if (!has_children()) return;
  if (++kills_ > most_kills) {
    done_ = true;
    return;
  }
  launch::signal_descendants(SIGKILL);
  loop_.after(between_kills, [this] { kill_everything(); });
}

// What nodes left behind goes when the last node of this host has gone.
void agent::check_end() {
  reap();
  if (finished_) {
    if (!launcher_->open() || launcher_->idle()) done_ = true;
    return;
  }
  if (!started_ && !ending_) return;
  const bool running = std::any_of(nodes_.begin(), nodes_.end(), [](const auto& n) { return n->running(); });
  if (running) return;
  if (!std::exchange(sweeping_, true)) {
    if (has_children()) {
      launch::signal_descendants(SIGTERM);
      loop_.after(grace, [this] { kill_everything(); });
    }
    if (ending_)
      loop_.after(patience_for_output, [this] {
        for (auto& node : nodes_) node->abandon_output();
      });
  }
  const bool over = std::all_of(nodes_.begin(), nodes_.end(), [](const auto& n) { return n->over(); });
  if (over && !has_children()) finish();
}

void agent::finish() {
  finished_ = true;
  launcher_->send(control::finished{});
  loop_.after(grace, [this] { done_ = true; });
  if (!launcher_->open() || launcher_->idle()) done_ = true;
}

}  // namespace weft::launch
