// weft::job and weft::space::here of a simulated program, in the place of the runtime's (runtime/job.cpp, runtime/spaces.cpp): a program
// is linked with this library before weft's own, so the linker finds these and never looks for those. All of them are in this one file,
// so that it takes either all or none.
#include <weft/job.h>
#include <weft/detail/space.h>

#include <cstdio>

#include <unistd.h>

#include "space/ending.h"
#include "sim/program/simulated.h"

namespace weft {

namespace sim {
machine* simulated = nullptr;
thread_local bool own_thread = false;
}  // namespace sim

space& space::here() {
  return *sim::here().seen_space;
}

void space::adopt(sync_object& o) {
  auto& n = sim::here();
  if (n.space->owns(&o)) return n.space->name(o);
  o.number.store(elsewhere | n.adopted++, std::memory_order_relaxed);  // relaxed: all nodes are in one thread
}

namespace {

bool flush_first(errc, const std::string&) noexcept {
  std::fflush(nullptr);
  return false;
}

}  // namespace

struct job::state {
  sim::machine::node& node = sim::here();
};

job::job(int, char**) : job() {}
job::job() : state_(std::make_unique<state>()) {
  runtime::tell_of_end(flush_first);
}
job::~job() {
  if (std::uncaught_exceptions() == 0) meet();
}

node_id job::self() const noexcept {
  return state_->node.cpu.self();
}
node_id job::nodes() const noexcept {
  return state_->node.port.nodes();
}
std::size_t job::hosts() const noexcept {
  return nodes();
}
port& job::port() noexcept {
  return state_->node.port;
}
std::string job::way() const {
  return "weft sim";
}
std::vector<std::vector<std::byte>> job::exchange(bytes mine) {
  const wait_note noted(*state_->node.space, {.what = wait_kind::meeting, .caller = __builtin_return_address(0)});
  return sim::simulated->exchange(state_->node, mine);
}

}  // namespace weft
