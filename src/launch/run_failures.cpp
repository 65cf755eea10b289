// What the launcher makes of failures: which one is the reason for the end of the job, who is told, and in which words.
#include <sys/wait.h>

#include <algorithm>

#include "base/text.h"
#include "terminal/complain.h"
#include "launch/launcher.h"
#include "join/words.h"

namespace weft::launch {

namespace {

// Nodes that hear of a failure may end by themselves before they are ended.
constexpr base::nanoseconds grace_after_failure = base::second;

// A node that others cannot reach has often ended; its agent's word for how is better than theirs.
constexpr base::nanoseconds patience_for_better_reason = 300 * base::millisecond;

}  // namespace

std::string run_launcher::name(std::uint32_t node) const {
  return base::format("node %u (host %s, pid %d)", node, links_[plan_.host_of[node]]->host().c_str(), nodes_[node].pid);
}

// Whether this is the reason, and not just a consequence of an earlier one.
bool run_launcher::decide(int exit_status, std::string sentence) {
  if (verdict_) return false;
  verdict_ = verdict{exit_status, std::move(sentence)};
  return true;
}

bool run_launcher::anybody_listens() const {
  return std::any_of(nodes_.begin(), nodes_.end(), [](const auto& n) { return n.joined && !n.left && !n.exited; });
}

void run_launcher::bring_down() {
  if (anybody_listens())
    loop_.after(grace_after_failure, [this] { end_agents(false); });
  else
    end_agents(false);
}

void run_launcher::node_failed(std::uint32_t node, int exit_status, const std::string& how) {
  const auto& reason = nodes_[node].reason;
  if (!decide(exit_status, name(node) + (reason.empty() ? " " + how + "; the job was ended" : ": " + reason))) return;
  to_all(control::notice{node, how});
  bring_down();
}

void run_launcher::stayed_out(std::uint32_t node) {
  node_failed(node, terminal::status_failed, "exited with status 0 without joining the job that the others have joined");
}

void run_launcher::node_exited(std::uint32_t node, int wait_status) {
  auto& n = nodes_[node];
  n.exited = true;
  n.wait_status = wait_status;
  if (node == 0) input_.stop();
  const auto how = runtime::describe_end(wait_status);
  say(name(node) + " " + how);
  const bool well = WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0;
  if (n.left) {  // its part of the job was over: the others are not concerned, but the exit status is
    if (!well && !afterthought_)
      afterthought_ = verdict{runtime::shell_status(wait_status), name(node) + " " + how + " after it had left the job"};
  } else if (awaits_judgement(node)) {
    if (std::all_of(nodes_.begin(), nodes_.end(), [](const auto& other) { return other.exited; })) judge_reports();
  } else if (!well) {
    node_failed(node, runtime::shell_status(wait_status), how);
  } else if (n.joined) {
    node_failed(node, terminal::status_failed, how + " before it had left the job");
  } else if (first_joined_) {
    stayed_out(node);
  }
}

void run_launcher::node_reported(const control::report& m) {
  if (m.peer >= nodes_.size() || m.peer == m.node || nodes_[m.peer].left || verdict_) return;
  if (reports_.empty()) loop_.after(patience_for_better_reason, [this] { judge_reports(); });
  reports_.push_back(m);
}

// Whether a node's end follows from what is being judged, rather than explains it: nodes end when others do not answer.
bool run_launcher::awaits_judgement(std::uint32_t node) const {
  const auto reports = [&](const auto& r) { return r.node == node; };
  const auto is_reported = [&](const auto& r) { return r.peer == node; };
  return std::any_of(reports_.begin(), reports_.end(), reports) ||
         (!reports_.empty() && std::none_of(reports_.begin(), reports_.end(), is_reported));
}

// A node that is cut off finds all others unreachable, as they find it: it is the one that most reports are about, on either side.
void run_launcher::judge_reports() {
  std::erase_if(reports_, [this](const auto& r) { return nodes_[r.peer].left || nodes_[r.node].left; });
  if (reports_.empty()) return;
  std::vector<std::size_t> involved(nodes_.size());
  for (const auto& r : reports_) ++involved[r.node], ++involved[r.peer];
  const auto less = [&](const auto& a, const auto& b) { return involved[a.peer] < involved[b.peer]; };
  const auto worst = *std::max_element(reports_.begin(), reports_.end(), less);
  reports_.clear();
  if (involved[worst.node] > involved[worst.peer])
    node_failed(worst.node, terminal::status_failed, "is unreachable: it is cut off from the other nodes");
  else
    node_failed(worst.peer, terminal::status_failed, worst.how + base::format(", says node %u", worst.node));
}

void run_launcher::host_unreachable(run_link& link) {
  const auto words = link.last_words();
  const int status = link.reaped() ? runtime::shell_status(link.wait_status()) : 0;
  const std::string fix = status == 127 || status == 126 ? "say where weft is on that host with --remote-weft"
                                                         : "check its name, and that '" + link.command().front() +
                                                               "' reaches it without asking for a password";
  if (link.command().empty())
    decide(terminal::status_failed, "the agent on this host did not start" + (words.empty() ? "" : " (" + words + ")"));
  else
    decide(terminal::status_failed,
           "host " + link.host() + " could not be reached" + (words.empty() ? "" : " (" + words + ")") + "; " + fix);
}

void run_launcher::host_lost(std::uint32_t host, const std::string& how) {
  auto& link = *links_[host];
  if (!link.ready()) {
    if (!verdict_) {
      host_unreachable(link);
      bring_down();
    }
    return;
  }
  std::vector<std::uint32_t> gone;
  for (std::uint32_t node = 0; node < nodes_.size(); ++node) {
    if (plan_.host_of[node] != host || nodes_[node].exited) continue;
    nodes_[node].exited = true;
    gone.push_back(node);
  }
  if (host == plan_.host_of[0]) input_.stop();
  const auto words = link.last_words();
  const bool decided =
      decide(terminal::status_failed,
             base::format("host %s was lost with %s: %s%s; the job was ended", link.host().c_str(),
                          runtime::name_nodes(gone).c_str(), how.c_str(), words.empty() ? "" : (" (" + words + ")").c_str()));
  for (const auto node : gone) to_all(control::notice{node, "was lost with its host " + link.host()});
  if (decided) bring_down();
}

}  // namespace weft::launch
