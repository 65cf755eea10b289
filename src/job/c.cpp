// The C binding: every function is the C++ one. None lets an exception out, so an error ends the program with its sentence.
#include <weft/c.h>
#include <weft/weft.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <new>

namespace {

using namespace weft;

std::unique_ptr<job> current;  // the program's, from weft_start to weft_end

void start() {
  if (current) throw error(errc::invalid_argument, "weft_start was called twice; a program has one job");
  current = std::make_unique<job>();
}

// A C object is the C++ object.
template <typename Object, typename C>
Object& as(C* c) {
  static_assert(sizeof(Object) <= sizeof(C) && alignof(Object) <= alignof(C));
  return *std::launder(reinterpret_cast<Object*>(c));
}

placement placement_of(weft_placement where) {
  switch (where) {
    case WEFT_FIRST_TOUCH: return {};
    case WEFT_CYCLIC: return placement::cyclic();
    case WEFT_BLOCK: return placement::block();
    default: break;
  }
  if (where < 0) throw error(errc::invalid_argument, "a placement that is none of weft's");
  return placement::on(static_cast<node_id>(std::min<weft_placement>(where, UINT32_MAX)));
}

std::chrono::nanoseconds limit_of(uint64_t nanoseconds) {
  return std::chrono::nanoseconds(std::min<uint64_t>(nanoseconds, INT64_MAX));
}

template <typename T>
T reduced(T mine, weft_operation how) {
  return reduce(mine, [how](T a, T b) { return how == WEFT_SUM ? a + b : how == WEFT_MIN ? std::min(a, b) : std::max(a, b); });
}

}  // namespace

void weft_start() noexcept {
  start();
}
void weft_end() noexcept {
  current.reset();
}
uint32_t weft_self() noexcept {
  return space::here().self();
}
uint32_t weft_nodes() noexcept {
  return space::here().nodes();
}
void weft_share_of(size_t count, size_t* first, size_t* last) noexcept {
  *first = count * weft_self() / weft_nodes();
  *last = count * (weft_self() + 1) / weft_nodes();
}

void* weft_allocate(size_t size, size_t alignment, weft_placement where) noexcept {
  return allocate(size, alignment ? alignment : alignof(std::max_align_t), placement_of(where));
}
void* weft_allocate_together(size_t size, size_t alignment, weft_placement where) noexcept {
  return space::here().allocate_together(size, alignment ? alignment : page_size, placement_of(where));
}
void weft_free(void* p) noexcept {
  weft::free(p);
}
void weft_touch(const void* p, size_t size, bool for_writing) noexcept {
  touch(p, size, for_writing);
}
void weft_initialised() noexcept {
  initialised();
}

void weft_mutex_init(weft_mutex* m) noexcept {
  ::new (m) mutex;
}
void weft_mutex_lock(weft_mutex* m) noexcept {
  as<mutex>(m).lock();
}
bool weft_mutex_try_lock(weft_mutex* m) noexcept {
  return as<mutex>(m).try_lock();
}
bool weft_mutex_try_lock_for(weft_mutex* m, uint64_t nanoseconds) noexcept {
  return as<mutex>(m).try_lock_for(limit_of(nanoseconds));
}
void weft_mutex_unlock(weft_mutex* m) noexcept {
  as<mutex>(m).unlock();
}

void weft_shared_mutex_init(weft_shared_mutex* m) noexcept {
  ::new (m) shared_mutex;
}
void weft_shared_mutex_lock(weft_shared_mutex* m) noexcept {
  as<shared_mutex>(m).lock();
}
bool weft_shared_mutex_try_lock(weft_shared_mutex* m) noexcept {
  return as<shared_mutex>(m).try_lock();
}
void weft_shared_mutex_unlock(weft_shared_mutex* m) noexcept {
  as<shared_mutex>(m).unlock();
}
void weft_shared_mutex_lock_shared(weft_shared_mutex* m) noexcept {
  as<shared_mutex>(m).lock_shared();
}
bool weft_shared_mutex_try_lock_shared(weft_shared_mutex* m) noexcept {
  return as<shared_mutex>(m).try_lock_shared();
}
void weft_shared_mutex_unlock_shared(weft_shared_mutex* m) noexcept {
  as<shared_mutex>(m).unlock_shared();
}

void weft_condition_init(weft_condition* c) noexcept {
  ::new (c) condition_variable;
}
void weft_condition_wait(weft_condition* c, weft_mutex* held) noexcept {
  std::unique_lock lock(as<mutex>(held), std::adopt_lock);
  as<condition_variable>(c).wait(lock);
  lock.release();
}
bool weft_condition_wait_for(weft_condition* c, weft_mutex* held, uint64_t nanoseconds) noexcept {
  std::unique_lock lock(as<mutex>(held), std::adopt_lock);
  const auto ended = as<condition_variable>(c).wait_for(lock, limit_of(nanoseconds));
  lock.release();
  return ended == std::cv_status::no_timeout;
}
void weft_condition_notify_one(weft_condition* c) noexcept {
  as<condition_variable>(c).notify_one();
}
void weft_condition_notify_all(weft_condition* c) noexcept {
  as<condition_variable>(c).notify_all();
}

void weft_counter_init(weft_counter* c) noexcept {
  ::new (c) counter;
}
uint64_t weft_counter_add(weft_counter* c, uint64_t amount) noexcept {
  return as<counter>(c).fetch_add(amount);
}
uint64_t weft_counter_value(weft_counter* c) noexcept {
  return as<counter>(c).load();
}
void weft_counter_wait(weft_counter* c, uint64_t at_least) noexcept {
  as<counter>(c).wait_for(at_least);
}
void weft_counter_reset(weft_counter* c) noexcept {
  as<counter>(c).reset();
}

void weft_flag_init(weft_flag* f) noexcept {
  ::new (f) flag;
}
void weft_flag_set(weft_flag* f, uint64_t value) noexcept {
  as<flag>(f).set(value);
}
void weft_flag_clear(weft_flag* f) noexcept {
  as<flag>(f).clear();
}
bool weft_flag_is_set(weft_flag* f) noexcept {
  return as<flag>(f).is_set();
}
void weft_flag_wait(weft_flag* f, uint64_t at_least) noexcept {
  as<flag>(f).wait(at_least);
}

void weft_barrier() noexcept {
  barrier();
}
void weft_group_barrier_init(weft_group_barrier* b, uint32_t participants) noexcept {
  ::new (b) group_barrier(participants);
}
void weft_group_barrier_wait(weft_group_barrier* b) noexcept {
  as<group_barrier>(b).arrive_and_wait();
}

void weft_gather(const void* mine, size_t size, void* all) noexcept {
  space::here().gather({static_cast<const std::byte*>(mine), size}, {static_cast<std::byte*>(all), size * weft_nodes()});
}
double weft_reduce_double(double mine, weft_operation how) noexcept {
  return reduced(mine, how);
}
int64_t weft_reduce_int64(int64_t mine, weft_operation how) noexcept {
  return reduced(mine, how);
}
