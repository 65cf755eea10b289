// A node for the end-to-end tests. It does what its first argument says: most use the bootstrap and nothing else, the last ones a whole job.
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <thread>

#include <weft/job.h>

#include "base/text.h"
#include "join/bootstrap.h"

namespace {

using namespace weft;
using arguments = std::vector<std::string>;

constexpr base::nanoseconds patience = 20 * base::second;

std::unique_ptr<runtime::bootstrap> join() {
  auto joined = runtime::join_job();
  if (!joined) {
    std::fprintf(stderr, "cannot join: %s\n", joined.sentence().c_str());
    std::exit(1);
  }
  return std::move(*joined);
}

node_id number(const std::string& text) {
  return static_cast<node_id>(base::parse_number(text).value_or(0));
}

void sleep_for(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

bool meet(runtime::bootstrap& job, base::nanoseconds limit = patience) {
  const auto all = job.exchange(base::bytes_of(std::string_view("here")), limit);
  if (!all) std::printf("node %u exchange: %s: %s\n", job.who().self, to_string(all.code()), all.sentence().c_str());
  std::fflush(stdout);
  return all.ok();
}

// cards ROUNDS: exchanges cards and prints them.
int cards(const arguments& a) {
  auto job = join();
  const auto& who = job->who();
  const auto rounds = a.empty() ? 1 : number(a[0]);
  for (node_id round = 1; round <= rounds; ++round) {
    // Of different sizes, one of them empty.
    const std::string mine = base::format("%u.%u", who.self, round) + std::string(who.self * 1000, 'x');
    const auto all = job->exchange(base::bytes_of(std::string_view(mine).substr(0, who.self == 3 ? 0 : mine.size())), patience);
    if (!all) {
      std::fprintf(stderr, "%s\n", all.sentence().c_str());
      return 1;
    }
    std::string line;
    for (const auto& card : *all) {
      const std::string text(reinterpret_cast<const char*>(card.data()), card.size());
      line += " " + text.substr(0, text.find('x'));
    }
    std::printf("node %u of %u by %s, host %u of %u:%s\n", who.self, who.nodes, job->way(), who.host, who.hosts, line.c_str());
  }
  return job->leave() ? 0 : 1;
}

// same: prints what must be the same on all nodes, and what the options are.
int same(const arguments&) {
  auto job = join();
  const auto& who = job->who();
  unsigned sum = 0;
  for (const auto b : who.key) sum = sum * 31 + std::to_integer<unsigned>(b);
  std::string text = base::format("group %016llx key %08x hosts", static_cast<unsigned long long>(who.group), sum);
  for (const auto h : who.host_of) text += " " + std::to_string(h);
  for (const auto& [name, value] : who.options) text += " " + name + "=" + value;
  std::printf("%s\n", text.c_str());
  return job->leave() ? 0 : 1;
}

// die SIGNAL NODE WHEN: that node ends by that signal: before it joins, while the others exchange, or after all have.
int die(const arguments& a) {
  const int signal_number = static_cast<int>(number(a.at(0)));
  const std::string when = a.at(2);
  const bool me = std::getenv("WEFT_NODE") != nullptr && number(std::getenv("WEFT_NODE")) == number(a.at(1));
  if (me && when == "before") ::raise(signal_number);
  auto job = join();
  job->watch([&job](node_id node, const std::string& how) {
    std::printf("node %u is told: node %u %s\n", job->who().self, node, how.c_str());
    std::fflush(stdout);
  });
  if (when == "after") meet(*job);
  if (me) {
    sleep_for(0.2);
    ::raise(signal_number);
  }
  if (!meet(*job)) sleep_for(0.3);  // for the watcher
  return 3;
}

// leave-with CODE NODE: that node ends with that status; before it left the job if CODE starts with '+'.
int leave_with(const arguments& a) {
  auto job = join();
  meet(*job);
  const bool me = job->who().self == number(a.at(1));
  if (me && a.at(0)[0] == '+') std::_Exit(static_cast<int>(number(a.at(0).substr(1))));
  if (!me && a.at(0)[0] == '+') meet(*job);
  if (!job->leave()) return 99;
  return me ? static_cast<int>(number(a.at(0))) : 0;
}

// hang [stubborn]: joins, says its pid, and waits for ever; `stubborn` ignores SIGTERM.
int hang(const arguments& a) {
  if (!a.empty() && a[0] == "stubborn") ::signal(SIGTERM, SIG_IGN);
  auto job = join();
  meet(*job);
  std::printf("pid %d\n", ::getpid());
  std::fflush(stdout);
  while (true) ::pause();
}

// orphans: leaves a child in its group and one in a session of its own, both deaf to SIGTERM; says all pids and waits for ever, or
// ends if told to.
int orphans(const arguments& a) {
  auto job = join();
  std::fflush(stdout);
  for (int i = 0; i < 2; ++i) {
    if (::fork() != 0) continue;
    ::signal(SIGTERM, SIG_IGN);
    if (i == 1 && (::setsid() < 0 || ::fork() != 0)) ::_exit(0);
    std::printf("pid %d\n", ::getpid());
    std::fflush(stdout);
    while (true) ::pause();
  }
  std::printf("pid %d\n", ::getpid());
  std::fflush(stdout);
  sleep_for(0.3);
  if (!a.empty() && a[0] == "end") return job->leave() ? 0 : 1;
  while (true) ::pause();
}

// lines COUNT LENGTH: prints that many lines of one letter, half of them in two halves, to both streams in turn.
int lines(const arguments& a) {
  auto job = join();
  meet(*job);
  const std::size_t length = number(a.at(1));
  const std::string line(length, static_cast<char>('a' + job->who().self));
  for (node_id i = 0; i < number(a.at(0)); ++i) {
    const int to = i % 4 == 3 ? 2 : 1;
    const auto write_all = [to](std::string_view text) {
      while (!text.empty()) {
        const auto put = ::write(to, text.data(), text.size());
        if (put > 0) text.remove_prefix(static_cast<std::size_t>(put));
      }
    };
    if (i % 2 == 0) {
      write_all(line + "\n");
    } else {
      write_all(line.substr(0, length / 2));
      write_all(line.substr(length / 2) + "\n");
    }
  }
  return job->leave() ? 0 : 1;
}

// report PEER: node 0 says that PEER does not answer; all wait to be ended.
int report(const arguments& a) {
  auto job = join();
  meet(*job);
  if (job->who().self == 0) job->report(number(a.at(0)), "has not answered for 5 s");
  while (true) ::pause();
}

// late NODE: that node does not come to the exchange, and the others do not wait long.
int late(const arguments& a) {
  auto job = join();
  if (job->who().self == number(a.at(0)))
    sleep_for(2);
  else
    meet(*job, 300 * base::millisecond);
  return job->leave() ? 0 : 1;
}

// twice: joins a second time through the descriptor that a program started by the first would inherit.
int twice(const arguments&) {
  const std::string inherited = std::getenv("WEFT_CONTROL_FD");
  const int copy = ::fcntl(static_cast<int>(number(inherited)), F_DUPFD, 200);
  auto first = join();
  if (!first->leave()) return 1;
  ::setenv("WEFT_CONTROL_FD", std::to_string(copy).c_str(), 1);
  auto second = runtime::join_job();
  std::printf("second: %s\n", second ? "joined" : second.sentence().c_str());
  return 0;
}

// give-up: all nodes fail for the same reason.
int give_up(const arguments&) {
  auto job = join();
  const std::string sentence = "there is no wool; get some";
  if (!job->give_up(sentence)) std::fprintf(stderr, "weft: %s\n", sentence.c_str());
  return 70;
}

// stay-out NODE: that node ends without joining the job.
int stay_out(const arguments& a) {
  if (number(std::getenv("WEFT_NODE")) == number(a.at(0))) return 0;
  auto job = join();
  meet(*job);
  return 0;
}

// --- with a fabric ----------------------------------------------------------------------------------------------------------------

void say(const char* line) {
  std::puts(line);
  std::fflush(stdout);
}

// open: joins, opens the fabric, and exposes some memory.
int open_fabric(const arguments&) {
  weft::job job;
  const auto memory = job.port().allocate(1 << 20).or_throw();
  job.exchange_values(job.port().expose(memory, rights::all).or_throw());
  say("open");
  return 0;
}

double processor_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  auto seconds = [](const timeval& t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6; };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

// idle SECONDS: waits that long for a message that never comes, and says how much processor time that took.
int idle(const arguments& a) {
  weft::job job;
  bool called = false;
  job.port().on(first_user_handler, [&](const message&) { called = true; });
  job.meet();
  const double before = processor_seconds();
  job.port().wait([&] { return called; }, std::chrono::seconds(number(a.at(0)))).ignore();
  std::printf("idle %.6f\n", processor_seconds() - before);
  return 0;
}

// talk: writes to every other node ten times a second, until that fails.
int talk(const arguments&) {
  weft::job job;
  auto& port = job.port();
  const auto memory = port.allocate(4096).or_throw();
  const auto windows = job.exchange_values(port.expose(memory, rights::all).or_throw());
  job.meet();
  bool fine = true;
  for (word round = 0; fine; ++round) {
    for (node_id node = 0; node < job.nodes() && fine; ++node)
      fine = port.put(node, windows[node], job.self() * sizeof(word), base::bytes_of(round)).ok() && port.fence(node).ok();
    if (round == 0) say("up");
    sleep_for(0.1);
  }
  std::_Exit(3);
}

// listen: waits for ever for a message.
int listen_only(const arguments&) {
  weft::job job;
  say("up");
  while (true) job.port().wait([] { return false; }, std::chrono::seconds(1)).ignore();
}

// hold-port: takes some UDP port, says which, and waits for ever.
int hold_port(const arguments&) {
  const int holder = ::socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_in6 where{};
  where.sin6_family = AF_INET6;
  socklen_t size = sizeof where;
  if (::bind(holder, reinterpret_cast<sockaddr*>(&where), size) != 0) return 1;
  if (::getsockname(holder, reinterpret_cast<sockaddr*>(&where), &size) != 0) return 1;
  say(base::format("port %u", ntohs(where.sin6_port)).c_str());
  while (true) ::pause();
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, std::function<int(const arguments&)>> modes = {
      {"cards", cards},         {"same", same},       {"die", die},           {"leave-with", leave_with},
      {"hang", hang},           {"orphans", orphans}, {"lines", lines},       {"report", report},
      {"late", late},           {"twice", twice},     {"stay-out", stay_out}, {"give-up", give_up},
      {"open", open_fabric},    {"idle", idle},       {"talk", talk},         {"listen", listen_only},
      {"hold-port", hold_port},
  };
  const arguments all(argv + 1, argv + argc);
  if (all.empty() || modes.count(all[0]) == 0) {
    std::fprintf(stderr, "probe_node: unknown mode\n");
    return 64;
  }
#ifdef PROBE_IS_ANOTHER_BUILD
  std::fprintf(stderr, "another build\n");
#endif
  return modes.at(all[0])(arguments(all.begin() + 1, all.end()));
}
