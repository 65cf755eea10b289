// The one place that wires bootstrap and fabric together, and the process-wide habits of a node.
#include <weft/job.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <exception>
#include <thread>

#include <unistd.h>

#include "base/text.h"
#include "join/bootstrap.h"
#include "space/ending.h"
#include "job/fabrics.h"
#include "join/launch_options.h"
#include "insight/question.h"
#include "insight/roll_call.h"
#include "insight/sample.h"
#include "space/spaces.h"
#include "insight/statistics.h"
#include "insight/tracing.h"

namespace weft {

namespace {

constexpr base::nanoseconds start_limit = 60 * base::second;
constexpr base::nanoseconds end_limit = INT64_MAX / 4;  // the launcher ends the wait for a node that will not come

std::terminate_handler previous_terminate = nullptr;
std::atomic<runtime::bootstrap*> joined{nullptr};  // the job's, while there is one

[[noreturn]] void end_with_the_sentence() {
  if (auto current = std::current_exception()) {
    try {
      std::rethrow_exception(current);
    } catch (const error& e) {
      std::fflush(nullptr);
      runtime::end_with(e.code(), e.what());
    } catch (...) {
    }
  }
  if (previous_terminate) previous_terminate();
  std::abort();
}

// When another node has failed, the launcher is about to say which and how, and to end this one: its word comes first.
bool tell_launcher(errc why, const std::string& sentence) noexcept {
  if (why == errc::node_failed) std::this_thread::sleep_for(std::chrono::seconds(1));
  auto* boot = joined.load();
  return boot && boot->give_up(sentence);
}

std::string option(const runtime::identity& who, const char* name) {
  const auto found = who.options.find(name);
  return found == who.options.end() ? std::string() : found->second;
}

fabric::fabric_options fabric_options_of(const runtime::identity& who) {
  fabric::fabric_options o;
  o.self = who.self;
  o.nodes = who.nodes;
  o.group = who.group;
  o.key = who.key;
  o.one_host = who.hosts == 1;
  o.nodes_on_host = static_cast<node_id>(std::count(who.host_of.begin(), who.host_of.end(), who.host));
  o.share_cores = !option(who, "share-cores").empty();
  o.lock_memory = !option(who, "lock-memory").empty();
  o.impair = option(who, "impair");
  o.first_port = static_cast<std::uint16_t>(base::parse_number(option(who, "port")).value_or(0));
  o.interface = option(who, "interface");
  o.provider = option(who, "provider");
  o.dead_after = base::parse_duration(option(who, "dead-after")).value_or(o.dead_after);
  return o;
}

}  // namespace

struct job::state {
  std::unique_ptr<runtime::bootstrap> boot;
  std::unique_ptr<observe::activity> activity;
  base::nanoseconds began = 0;  // when the program got its job
  std::unique_ptr<fabric::fabric> fabric;
  std::unique_ptr<runtime::tracing> tracing;
  runtime::made_space space;
  std::unique_ptr<runtime::question> question;
  int exceptions = std::uncaught_exceptions();

  void look_closely();
  void answer_questions();
  void meet_at_the_end();
  ~state() { joined.store(nullptr); }
};

job::job(int, char**) : job() {}

job::job() : state_(std::make_unique<state>()) {
  if (std::get_terminate() != end_with_the_sentence) previous_terminate = std::set_terminate(end_with_the_sentence);
  state_->boot = runtime::join_job().or_throw();
  auto& boot = *state_->boot;
  joined.store(&boot);
  runtime::tell_of_end(tell_launcher);
  const auto& who = boot.who();
  state_->fabric = runtime::make_fabric(runtime::fabric_of(who.options, who.hosts), fabric_options_of(who)).or_throw();
  auto& fabric = *state_->fabric;
  const bool traced = !option(who, "trace").empty();
  state_->activity =
      std::make_unique<observe::activity>(observe::activity::machine(traced || !option(who, "stats").empty()), who.nodes);
  fabric.activity(state_->activity.get());
  if (traced)
    state_->tracing = std::make_unique<runtime::tracing>(*state_->activity, fabric, who.host_of[who.self] != who.host_of[0]);
  const auto card = fabric.open().or_throw();
  fabric.on_unreachable([&boot](node_id node, const std::string& how) { boot.report(node, "is unreachable: " + how); });
  const auto cards = boot.exchange(card, start_limit).or_throw();
  fabric.connect(cards).or_throw();
  boot.watch([&fabric](node_id node, const std::string& how) { fabric.mark_failed(node, how); });
  boot.exchange({}, start_limit).or_throw();  // nobody starts before all can be reached
  const auto with_all = [&boot](bytes mine) { return boot.exchange(mine, start_limit).or_throw(); };
  const runtime::space_choice choice{option(who, "protocol"), option(who, "engine"), who.hosts == 1,
                                     base::parse_size(option(who, "protocol-memory")).value_or(0)};
  if (traced) state_->tracing->compare_clocks();
  state_->space =
      runtime::make_space(traced ? static_cast<class port&>(state_->tracing->port()) : fabric, choice, with_all).or_throw();
  if (const auto where = option(who, "stats"); !where.empty() && where != "-") state_->look_closely();
  runtime::use_space(state_->space.memory.get());
  state_->activity->begin(0);
  state_->began = state_->activity->now();
  state_->answer_questions();
}

// For the report: what happens to which pages, and whose they are.
void job::state::look_closely() {
  if (auto* profile = space.seen->profile()) profile->turn_on();
  if (auto* allocations = space.seen->allocations()) allocations->turn_on();
}

// Asked by the launcher, or by a signal to this node; without a launcher it speaks for itself.
void job::state::answer_questions() {
  const auto present = [this] { return runtime::present(*activity, space.seen); };
  boot->on_roll_call(present);
  boot->on_sample([this] {
    runtime::begin_sampling(*activity, *space.seen);
    return runtime::sample(*activity, began, *space.seen, *fabric);
  });
  question = std::make_unique<runtime::question>([this, present] {
    if (boot->call_roll()) return;
    const runtime::roll_answer mine{boot->who().self, present(), {}};
    for (const auto& line : runtime::tell_roll({&mine, 1})) std::fprintf(stderr, "weft: roll-call: %s\n", line.c_str());
  });
}

// Nobody goes before all have come. With statistics, they bring what they have counted.
void job::state::meet_at_the_end() {
  const auto& who = boot->who();
  const auto where = option(who, "stats");
  const auto mine = where.empty() ? base::byte_buffer()
                                  : runtime::encode(runtime::take_account(*activity, began, *space.seen, *fabric),
                                                    runtime::most_exchanged / who.nodes);
  const wait_note noted(*space.memory, {wait_kind::meeting});
  const auto all = boot->exchange(mine, end_limit);
  if (tracing && all) tracing->write(*boot, option(who, "trace"), end_limit);
  if (!all || where.empty() || who.self != 0) return;
  std::vector<runtime::account> accounts;
  for (const auto& each : *all) accounts.push_back(runtime::decode(each));
  const auto document = runtime::statistics_document(who, boot->way(), fabric->name(), *space.seen, accounts, where != "-");
  if (boot->deliver(document)) return;
  if (auto written = runtime::write_document(where, document); !written)
    std::fprintf(stderr, "weft: %s\n", written.sentence().c_str());
}

// A node that an exception drives out has not left in order: its process's end is then a failure, of which the others are told.
job::~job() {
  const bool in_order = std::uncaught_exceptions() == state_->exceptions;
  if (in_order) state_->meet_at_the_end();
  state_->question.reset();
  state_->boot->on_roll_call(nullptr);
  state_->boot->on_sample(nullptr);
  runtime::use_space(nullptr);
  state_->fabric->close();
  state_->space.memory.reset();
  if (in_order) state_->boot->leave().ignore();
}

node_id job::self() const noexcept {
  return state_->boot->who().self;
}
node_id job::nodes() const noexcept {
  return state_->boot->who().nodes;
}
std::size_t job::hosts() const noexcept {
  return state_->boot->who().hosts;
}
port& job::port() noexcept {
  return *state_->fabric;
}
std::string job::way() const {
  return state_->boot->way();
}

std::vector<std::vector<std::byte>> job::exchange(bytes mine) {
  const wait_note noted(*state_->space.memory, {.what = wait_kind::meeting, .caller = __builtin_return_address(0)});
  return state_->boot->exchange(mine, end_limit).or_throw();
}

}  // namespace weft
