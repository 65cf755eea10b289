// What the launcher does with the messages of its agents.
#include <algorithm>

#include "base/text.h"
#include "terminal/complain.h"
#include "launch/launcher.h"
#include "join/bootstrap.h"
#include "join/version.h"
#include "join/words.h"

namespace weft::launch {

void run_launcher::from_agent(std::uint32_t host, control::message m) {
  // An agent speaks for the nodes of its own host only.
  const auto mine = [&](std::uint32_t node) { return node < nodes_.size() && plan_.host_of[node] == host; };
  if (auto* ready = std::get_if<control::ready>(&m)) {
    agent_ready(host, *ready);
  } else if (auto* failed = std::get_if<control::not_started>(&m); failed && mine(failed->node)) {
    node_not_started(host, *failed);
  } else if (auto* started = std::get_if<control::started>(&m); started && mine(started->node)) {
    nodes_[started->node].pid = started->pid;
    say(base::format("%s started", name(started->node).c_str()));
    if (started->node == 0) input_.start();
  } else if (auto* output = std::get_if<control::output>(&m); output && mine(output->node)) {
    auto& stream = output->stream == 2 && err_ ? *err_ : out_;
    stream.add(
        {host, output->node, output->stream, std::string(reinterpret_cast<const char*>(output->data.data()), output->data.size())});
  } else if (auto* credit = std::get_if<control::input_credit>(&m)) {
    input_.add_credit(credit->count);
  } else if (auto* hello = std::get_if<control::hello>(&m); hello && mine(hello->node)) {
    node_greets(*hello);
  } else if (auto* card = std::get_if<control::card>(&m); card && mine(card->node)) {
    node_contributes(std::move(*card));
  } else if (auto* question = std::get_if<control::ask_missing>(&m); question && mine(question->node)) {
    node_asks(host, *question);
  } else if (auto* leave = std::get_if<control::leave>(&m); leave && mine(leave->node)) {
    nodes_[leave->node].left = true;
  } else if (auto* report = std::get_if<control::report>(&m); report && mine(report->node)) {
    node_reported(*report);
  } else if (auto* reason = std::get_if<control::give_up>(&m); reason && mine(reason->node)) {
    nodes_[reason->node].reason = reason->sentence;
  } else if (auto* present = std::get_if<control::presence>(&m); present && mine(present->node)) {
    node_present(std::move(*present));
  } else if (auto* counted = std::get_if<control::sample>(&m); counted && mine(counted->node)) {
    audience_.tell(std::move(*counted));
  } else if (std::holds_alternative<control::ask_roll_call>(m)) {
    roll_.to_be_told = true;
    call_roll();
  } else if (auto* document = std::get_if<control::document>(&m); document && document->node == 0 && mine(0)) {
    if (plan_.options.count("stats") != 0) document_ = std::move(document->text);
  } else if (auto* part = std::get_if<control::trace_part>(&m); part && part->node == 0 && mine(0)) {
    if (trace_.is_open()) trace_ << part->text;
  } else if (auto* exited = std::get_if<control::exited>(&m); exited && mine(exited->node)) {
    node_exited(exited->node, exited->wait_status);
  } else if (std::holds_alternative<control::finished>(m)) {
    links_[host]->set_over();
  }
}

void run_launcher::agent_ready(std::uint32_t host, const control::ready& m) {
  auto& link = *links_[host];
  link.set_ready();
  say(base::format("host %s: its agent is ready (weft %s)", link.host().c_str(), m.version.c_str()));
  if (ending_) return link.send(control::end_job{1});
  if (m.version != runtime::version) {
    if (decide(terminal::status_failed,
               base::format(
                   "host %s has weft %s and this one is %s; install the same version there, or name another with --remote-weft",
                   link.host().c_str(), m.version.c_str(), runtime::version)))
      bring_down();
    return;
  }
  start_more_agents();
  const bool all = std::all_of(links_.begin(), links_.end(), [](const auto& l) { return l->ready(); });
  if (all && !nodes_started_) start_nodes();
}

void run_launcher::node_not_started(std::uint32_t host, const control::not_started& m) {
  nodes_[m.node].exited = true;
  if (decide(m.exit_status, base::format("host %s: %s", links_[host]->host().c_str(), m.reason.c_str()))) bring_down();
}

// Nodes of different builds are refused before they can misunderstand each other.
void run_launcher::node_greets(const control::hello& m) {
  auto& node = nodes_[m.node];
  auto& link = *links_[plan_.host_of[m.node]];
  node.version = m.version;
  node.build = m.build;
  if (!first_joined_) first_joined_ = m.node;
  const auto& first = nodes_[*first_joined_];
  if (m.version != first.version || m.build != first.build) {
    const bool same_weft = m.version == first.version;
    const auto reason = base::format(
        "%s runs %s than %s%s", name(m.node).c_str(),
        same_weft ? "a different build of the program" : "a different version of weft", name(*first_joined_).c_str(),
        same_weft ? "; copy the same file to every host"
                  : (" (" + m.version + " and " + first.version + "); build the program with the same on every host").c_str());
    link.send(control::refuse{m.node, reason});
    if (!decide(terminal::status_failed, reason)) return;
    to_all(control::notice{m.node, "was refused, because it is a different build"});
    return bring_down();
  }
  node.joined = true;
  link.send(control::admit{m.node});
  for (std::uint32_t other = 0; other < nodes_.size(); ++other)
    if (nodes_[other].exited && !nodes_[other].joined) return stayed_out(other);
}

void run_launcher::node_contributes(control::card&& m) {
  auto& node = nodes_[m.node];
  if (!node.joined || m.round != node.rounds + 1) return;  // nobody of ours would
  node.rounds = m.round;
  auto& r = rounds_[m.round];
  r.cards.resize(nodes_.size());
  r.count += 1;
  r.bytes += m.data.size();
  r.cards[m.node] = std::move(m.data);
  if (r.bytes > runtime::most_exchanged) {
    if (decide(terminal::status_failed,
               base::format("the nodes exchanged more than %zu bytes at start-up, so the job was ended", runtime::most_exchanged)))
      bring_down();
    return;
  }
  if (r.count < nodes_.size()) return;
  const auto frame = launch::share(control::gathered{m.round, std::move(r.cards)});
  rounds_.erase(m.round);
  for (auto& link : links_) link->send(frame);
}

void run_launcher::node_asks(std::uint32_t host, const control::ask_missing& m) {
  control::missing answer{m.node, m.round, {}};
  for (std::uint32_t node = 0; node < nodes_.size(); ++node)
    if (nodes_[node].rounds < m.round) answer.absent.push_back(node);
  links_[host]->send(answer);
}

void run_launcher::to_all(const control::message& m) {
  const auto frame = launch::share(m);
  for (auto& link : links_)
    if (link->ready() && !link->over()) link->send(frame);
}

}  // namespace weft::launch
