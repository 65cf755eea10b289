#include "sim/machine/machine.h"

#include <algorithm>
#include <exception>

#include <sys/mman.h>

#include "base/text.h"
#include "os/symbols.h"
#include "space/region.h"
#include "insight/roll_call.h"

namespace weft::sim {

namespace {

// Where the program expects its shared memory; it is always accessible.
os::mapping map_program(std::size_t size) {
  void* at = ::mmap(runtime::region_base, size, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (at != runtime::region_base)
    throw error(errc::system,
                base::format("the simulated memory of %zu MiB cannot be mapped at its place; another machine is there, or "
                             "there are not so many addresses",
                             size >> 20));
  return {runtime::region_base, size};
}

// What a node is up to. Where its program waits for another is known to the space that it sees.
control::presence present(const machine::node& n) {
  auto p = runtime::present(n.activity, n.space.get());
  for (auto& thread : p.threads) {
    const auto what = static_cast<wait_kind>(thread.waits_for);
    const bool from_space = what >= wait_kind::mutex && what <= wait_kind::group_barrier;
    if (from_space && n.seen_space && n.seen_space->caller()) thread.where = os::name_of_code(n.seen_space->caller());
  }
  return p;
}

}  // namespace

// What handlers do, in events, is not its processor's.
machine::node::node(machine& in, const fabric::fabric_options& o)
    : whole(in),
      cpu(in, o.self),
      activity({.now = [](void* n) -> base::nanoseconds { return static_cast<node*>(n)->port.now().count(); },
                .thread = [](void* n) -> base::thread_identity {
                  const auto& self = *static_cast<node*>(n);
                  return self.whole.running() == &self.cpu ? base::thread_identity{0, 1}
                                                           : base::thread_identity{base::shared_thread_slot, 2};
                },
                .context = this,
                .timed = true},
               o.nodes),
      port(o, in) {
  port.activity(&activity);
}

// The production code says in which phase its threads are.
cost machine::node::waits_count_as() {
  const auto now = activity.enter(observe::phase::protocol);
  activity.leave(now);
  const bool copies = !whole.interface_of_nodes() || whole.interface_of_nodes()->copies_pages;
  switch (now.in) {
    case observe::phase::lock:
    case observe::phase::barrier: return cost::synchronisation;
    case observe::phase::fetch: return copies ? cost::page_copy : cost::protocol;
    default: return cost::protocol;
  }
}

account machine::node::so_far() const {
  account a;
  a.spent = cpu.spent();
  a.references = cpu.references();
  a.misses = cpu.misses();
  const node_hardware& hardware = whole.connections().at(cpu.self());
  a.messages = hardware.messages;
  a.bytes = hardware.bytes;
  const auto protocol = space->statistics();
  a.read_faults = protocol.read_faults;
  a.write_faults = protocol.write_faults;
  a.fetched_pages = protocol.fetched_pages;
  a.changed_pages = protocol.changed_pages;
  a.changed_bytes = protocol.changed_bytes;
  a.notices = protocol.notices_in;
  a.invalidated = protocol.invalidated;
  return a;
}

void machine::node::takes_time() {
  (began_ ? ended_ : began_) = so_far();
}

account machine::node::measured() const {
  if (!ended_) return so_far();
  account a = *ended_;
  return a -= *began_;
}

machine::machine(const machine_options& o)
    : options_(o), network_(time_, options_.numbers, o.processors), exchanges_(o.processors) {
  options_.numbers.check().or_throw();
  const std::size_t size = numbers().memory_pages * dsm::page_bytes;
  program_ = map_program(size);
  frames_file_ = os::create_memory_file("weft simulated frames", size).or_throw();
  frames_ = os::map_file(frames_file_.get(), 0, size, true).or_throw();
  for (node_id n = 0; n < o.processors; ++n) {
    fabric::fabric_options f;
    f.self = n;
    f.nodes = o.processors;
    nodes_.push_back(std::make_unique<node>(*this, f));
  }
}

machine::~machine() {
  if (failure_)
    for (auto& n : nodes_) (void)n.release();
}

void machine::run(const std::function<void(node&)>& program) {
  for (auto& each : nodes_)
    each->cpu.start([this, &program, n = each.get()] {
      try {
        build(*n);
        n->activity.begin(0);
        program(*n);
      } catch (const std::exception& e) {
        fail(base::format("node %u: %s", n->cpu.self(), e.what()));
      }
    });
  while (!time_.empty() && !failure_) time_.step();
  if (!failure_ && !std::all_of(nodes_.begin(), nodes_.end(), [](const auto& n) { return n->cpu.finished(); })) stuck();
}

void machine::fail(const std::string& sentence) {
  if (!failure_) failure_ = sentence;
}

void machine::look_for_deadlock() {
  constexpr base::nanoseconds long_wait = base::second;
  const auto waits = [&](const std::unique_ptr<node>& n) {
    if (n->cpu.finished()) return true;
    for (const auto& t : n->activity.threads())
      if (t.wait.what == wait_kind::nothing || nanoseconds_of(time_.now()) - t.wait.since < long_wait) return false;
    return true;
  };
  if (std::all_of(nodes_.begin(), nodes_.end(), waits)) stuck();
}

void machine::stuck() {
  std::vector<runtime::roll_answer> answers;
  for (const auto& n : nodes_)
    if (n->cpu.finished())
      answers.push_back({n->cpu.self(), {}, "has ended"});
    else
      answers.push_back({n->cpu.self(), present(*n), {}});
  std::string text = "nobody can go on: the simulated program is in a deadlock";
  for (const auto& line : runtime::tell_roll(answers)) text += "\n  " + line;
  fail(text);
}

void machine::build(node& n) {
  runtime::space_options how;
  how.protocol = options_.protocol;
  how.pages = static_cast<dsm::page_id>(numbers().memory_pages);
  how.managers_in_turn = numbers().managers_in_turn != 0;
  how.first_copies_fetched = numbers().first_copies != 0;
  how.barrier_fan_in = numbers().barrier_fan_in != 0 ? static_cast<node_id>(numbers().barrier_fan_in) : processors();
  how.memory = [&](std::byte*, dsm::page_id, os::page_engine::fault_handler& handler) {
    auto made = std::make_unique<machine_pages>(*this, n.cpu, frames(), handler);
    n.pages = made.get();
    n.cpu.use(*made);
    return result<std::unique_ptr<dsm::pages>>(std::move(made));
  };
  n.space = runtime::software_space::create(n.port, how, [&](bytes mine) { return exchange(n, mine); }).or_throw();
  n.seen_space.emplace(*n.space, n.cpu);
}

std::vector<std::vector<std::byte>> machine::exchange(node& n, bytes mine) {
  n.cpu.take_turn();
  const exchanges::round& r = exchanges_.give(n.cpu.self(), mine);
  if (r.complete())
    for (auto& other : nodes_) other->cpu.wake();
  n.cpu.wait([&] { return r.complete(); }, INT64_MAX);
  return r.from;
}

}  // namespace weft::sim
