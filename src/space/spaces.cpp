#include "space/spaces.h"

#include <atomic>

#include "space/calls.h"
#include "space/chore_thread.h"
#include "space/direct_space.h"
#include "space/signals.h"
#include "space/software_space.h"

namespace weft {

namespace {

// The one pointer that weft::mutex and weft::barrier go through; a process is one node. Set before the program's threads start.
std::atomic<space*> current{nullptr};
std::atomic<std::uint64_t> outside{0};

}  // namespace

space& space::here() {
  if (space* s = current.load(std::memory_order_acquire)) [[likely]]
    return *s;
  throw error(errc::invalid_argument, "shared memory was used where there is no weft::job");
}

void space::adopt(sync_object& o) {
  space* s = current.load(std::memory_order_acquire);
  if (s && s->owns(&o)) return s->name(o);
  o.number.store(elsewhere | outside.fetch_add(1), std::memory_order_relaxed);
}

namespace runtime {

void use_space(space* s) noexcept {
  let_faults_through();
  current.store(s, std::memory_order_release);
  serve_calls(s);
}

namespace {

template <typename Space>
result<made_space> seen(result<std::unique_ptr<Space>> made) {
  if (!made) return made.failure();
  observed* o = made->get();
  return made_space{std::move(*made), o};
}

}  // namespace

result<made_space> make_space(port& p, const space_choice& choice, const dsm::exchange& with_all) {
  const std::string protocol = !choice.protocol.empty() ? choice.protocol : choice.one_host ? "direct" : "auto";
  if (protocol == "direct") return seen(direct_space::create(p, with_all));
  space_options options{protocol};
  if (choice.protocol_memory != 0) options.protocol_memory = choice.protocol_memory;
  if (choice.engine == "uffd") options.engine = engine_of_kernel(os::page_engine::way::uffd);
  if (choice.engine == "mprotect") options.engine = engine_of_kernel(os::page_engine::way::mprotect);
  options.chores = [] { return std::make_unique<chore_thread>(); };
  return seen(software_space::create(p, options, with_all));
}

}  // namespace runtime
}  // namespace weft
