// What the macros call, and how a program of the macros starts: before main, on every node. Only main's thread of node 0 goes on to main.
#include <weft/parmacs.h>

#include <cstdlib>
#include <ctime>
#include <new>

#include <unistd.h>
#include <weft/memory.h>

#include "models/parmacs/output.h"
#include "models/parmacs/program.h"
#include "models/parmacs/same_addresses.h"
#include "space/ending.h"

namespace {

using namespace weft;

parmacs::program* current = nullptr;  // set before main, and not destroyed: there are threads until the end
mutex* fences = nullptr;              // its holders follow one another as their fences do

// A program that ends with another status has failed: then the launcher ends the other nodes and says so.
void at_exit(int status, void*) {
  if (status != 0 || current == nullptr) return;
  if (::gettid() != ::getpid())
    runtime::end_with(errc::invalid_argument,
                      "a worker has called exit, and its node has other workers; start the program on as many "
                      "nodes as it has workers, or let the worker return");
  if (current->is_first()) {
    current->end();
  } else if (current->works()) {
    ::on_exit(at_exit, nullptr);  // the next worker here may end in the same way
    current->ended_by_exit();
  }
  current = nullptr;
}

// After the program's own constructors: libraries come after the program in the list of these.
[[gnu::constructor]] void start(int, char** arguments, char**) noexcept {
  parmacs::start_at_fixed_address(arguments);
  fences = new mutex;
  current = new parmacs::program;
  ::on_exit(at_exit, nullptr);
  if (current->is_first()) return;
  current->serve();
  current = nullptr;
  std::exit(0);
}

// An object of the macros: where its body is, and room for that. One among the program's globals has its body in shared memory, and
// the copies that CREATE makes all lead there.
template <typename Body>
struct placed {
  Body* where;
  alignas(Body) std::byte room[sizeof(Body)];
};

struct subscripts {
  sync_object lock, meeting;
  std::int64_t next = 0, without = 0;  // guarded by lock: the next to give; workers that got none
};

template <typename Body>
void make_body(void* object) {
  static_assert(sizeof(placed<Body>) ==
                (sizeof(Body) == sizeof(sync_object) ? sizeof(weft_parmacs_lock) : sizeof(weft_parmacs_subscripts)));
  auto* p = static_cast<placed<Body>*>(object);
  void* room = space::here().owns(p) ? p->room : weft::allocate(sizeof(Body), alignof(Body));
  p->where = ::new (room) Body;
}

template <typename Body = sync_object>
Body& body(void* object) {
  auto* where = static_cast<placed<Body>*>(object)->where;
  if (where == nullptr) throw error(errc::invalid_argument, "a lock, barrier or the like was used before its ...INIT");
  return *where;
}

void make_sync(void* object) {
  make_body<sync_object>(object);
  space::adopt(body(object));
}

}  // namespace

void weft_parmacs_begin() noexcept {}
void weft_parmacs_create(void (*f)()) noexcept {
  current->create(f);
}
void weft_parmacs_create_all(void (*f)(), long workers) noexcept {
  current->create(f, static_cast<std::uint32_t>(workers));
}
void weft_parmacs_wait_for_end(long workers) noexcept {
  current->wait_for_end(static_cast<std::uint32_t>(workers));
}

// Small blocks lie side by side whatever their home.
void* weft_parmacs_malloc(size_t size, long home) noexcept {
  const bool anywhere = home < 0 || size < page_size;
  const auto where = anywhere ? placement{} : placement::on(static_cast<node_id>(home) % space::here().nodes());
  return weft::allocate(size, alignof(std::max_align_t), where);
}
void weft_parmacs_free(void* p) noexcept {
  weft::free(p);
}

void weft_parmacs_lock_init(weft_parmacs_lock* l) noexcept {
  make_sync(l);
}
void weft_parmacs_lock_take(weft_parmacs_lock* l) noexcept {
  space::here().lock(body(l), space::for_ever);
}
void weft_parmacs_lock_give(weft_parmacs_lock* l) noexcept {
  parmacs::show_output();
  space::here().unlock(body(l));
}

void weft_parmacs_barrier_init(weft_parmacs_barrier* b) noexcept {
  make_sync(b);
}
void weft_parmacs_barrier_wait(weft_parmacs_barrier* b, long workers) noexcept {
  current->barrier(body(b), static_cast<std::uint32_t>(workers));
}

void weft_parmacs_pause_init(weft_parmacs_pause* p) noexcept {
  make_sync(p);
}
void weft_parmacs_pause_set(weft_parmacs_pause* p) noexcept {
  parmacs::show_all_output();
  space::here().store(body(p), 1);
}
void weft_parmacs_pause_clear(weft_parmacs_pause* p) noexcept {
  space::here().store(body(p), 0);
}
void weft_parmacs_pause_wait(weft_parmacs_pause* p) noexcept {
  space::here().wait_at_least(body(p), 1, space::for_ever);
}

void weft_parmacs_condition_init(weft_parmacs_condition* c) noexcept {
  make_sync(c);
}
void weft_parmacs_condition_wait(weft_parmacs_condition* c, weft_parmacs_lock* held) noexcept {
  parmacs::show_all_output();
  space::here().wait(body(c), body(held), space::for_ever);
}
void weft_parmacs_condition_signal(weft_parmacs_condition* c, int all) noexcept {
  space::here().notify(body(c), all != 0);
}

void weft_parmacs_subscripts_init(weft_parmacs_subscripts* s) noexcept {
  make_body<subscripts>(s);
  space::adopt(body<subscripts>(s).lock);
  space::adopt(body<subscripts>(s).meeting);
}
// The last of the workers to get none begins anew; the others cannot ask again before it has come to the meeting.
long weft_parmacs_subscript(weft_parmacs_subscripts* s, long last, long workers) noexcept {
  subscripts& of = body<subscripts>(s);
  auto& space = space::here();
  space.lock(of.lock, space::for_ever);
  const bool there = of.next <= last;
  const long mine = there ? of.next++ : -1;
  if (!there && ++of.without == workers) of.next = of.without = 0;
  space.unlock(of.lock);
  if (!there) space.barrier(of.meeting, static_cast<std::uint32_t>(workers));
  return mine;
}

void weft_parmacs_fence() noexcept {
  fences->lock();
  fences->unlock();
}

// Of the day: programs take times on several hosts and compare them.
unsigned long weft_parmacs_clock() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<unsigned long>(now.tv_sec) * 1000000 + static_cast<unsigned long>(now.tv_nsec) / 1000;
}
