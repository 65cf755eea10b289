// Synchronisation, in the standard library's shapes: std::scoped_lock works on a weft::mutex.
//
// An object in shared memory, made by one node and used by all, is one object. An object elsewhere (a global, or on main's stack)
// is the same one on every node if all nodes construct theirs in the same order, as a program's globals are.
//
// Every operation that waits is ended by the failure of a node that it depends on: weft::error says which. `weft run --stall-after`
// and SIGUSR1 tell which node waits where for what.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <vector>

#include <weft/detail/space.h>

namespace weft {

// Mutual exclusion; what one holder wrote is visible to the next. Not recursive; unlocked by the thread that locked it.
class mutex {
 public:
  mutex() { space::adopt(object_); }
  mutex(const mutex&) = delete;
  mutex& operator=(const mutex&) = delete;

  void lock() { space::here().lock(object_, space::for_ever); }
  bool try_lock() { return space::here().lock(object_, space::duration::zero()); }
  template <typename Rep, typename Period>
  bool try_lock_for(std::chrono::duration<Rep, Period> limit) {
    return space::here().lock(object_, std::chrono::duration_cast<space::duration>(limit));
  }
  void unlock() { space::here().unlock(object_); }

 private:
  friend class condition_variable;
  sync_object object_;
};

// One writer, or any number of readers.
class shared_mutex {
 public:
  shared_mutex() { space::adopt(object_); }
  shared_mutex(const shared_mutex&) = delete;
  shared_mutex& operator=(const shared_mutex&) = delete;

  void lock() { space::here().lock(object_, true, space::for_ever); }
  bool try_lock() { return space::here().lock(object_, true, space::duration::zero()); }
  void unlock() { space::here().unlock(object_, true); }
  void lock_shared() { space::here().lock(object_, false, space::for_ever); }
  bool try_lock_shared() { return space::here().lock(object_, false, space::duration::zero()); }
  void unlock_shared() { space::here().unlock(object_, false); }

 private:
  sync_object object_;
};

class condition_variable {
 public:
  condition_variable() { space::adopt(object_); }
  condition_variable(const condition_variable&) = delete;
  condition_variable& operator=(const condition_variable&) = delete;

  void wait(std::unique_lock<mutex>& held) { space::here().wait(object_, held.mutex()->object_, space::for_ever); }
  template <typename Predicate>
  void wait(std::unique_lock<mutex>& held, Predicate until) {
    while (!until()) wait(held);
  }
  template <typename Rep, typename Period>
  std::cv_status wait_for(std::unique_lock<mutex>& held, std::chrono::duration<Rep, Period> limit) {
    const auto l = std::chrono::duration_cast<space::duration>(limit);
    return space::here().wait(object_, held.mutex()->object_, l) ? std::cv_status::no_timeout : std::cv_status::timeout;
  }
  void notify_one() { space::here().notify(object_, false); }
  void notify_all() { space::here().notify(object_, true); }

 private:
  sync_object object_;
};

// Counts events; waiting for a count sees what was written before the additions that made it.
class counter {
 public:
  counter() { space::adopt(object_); }
  counter(const counter&) = delete;
  counter& operator=(const counter&) = delete;

  std::uint64_t fetch_add(std::uint64_t amount = 1) { return space::here().add(object_, amount); }
  std::uint64_t load() { return space::here().load(object_); }
  void wait_for(std::uint64_t at_least) { space::here().wait_at_least(object_, at_least, space::for_ever); }
  void reset() { space::here().store(object_, 0); }

 private:
  sync_object object_;
};

// For pipelines: one node sets, others wait.
class flag {
 public:
  flag() { space::adopt(object_); }
  flag(const flag&) = delete;
  flag& operator=(const flag&) = delete;

  void set(std::uint64_t value = 1) { space::here().store(object_, value); }
  void clear() { space::here().store(object_, 0); }
  bool is_set() { return space::here().load(object_) != 0; }
  void wait(std::uint64_t at_least = 1) { space::here().wait_at_least(object_, at_least, space::for_ever); }

 private:
  sync_object object_;
};

// All nodes meet; one thread of each calls.
inline void barrier() {
  space::here().barrier();
}

// A barrier for `participants` threads, of whichever nodes.
class group_barrier {
 public:
  explicit group_barrier(std::uint32_t participants) : participants_(participants) { space::adopt(object_); }
  group_barrier(const group_barrier&) = delete;
  group_barrier& operator=(const group_barrier&) = delete;

  void arrive_and_wait() { space::here().barrier(object_, participants_); }

 private:
  sync_object object_;
  std::uint32_t participants_;
};

// All nodes: combines one value of each in node order, so the result is the same everywhere and every time. Also a barrier.
template <typename T, typename Operation>
T reduce(const T& mine, Operation combine) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= space::most_gathered);
  auto& s = space::here();
  std::vector<T> all(s.nodes());
  s.gather(std::as_bytes(std::span<const T, 1>(&mine, 1)), std::as_writable_bytes(std::span<T>(all)));
  T result = all[0];
  for (node_id node = 1; node < s.nodes(); ++node) result = combine(result, all[node]);
  return result;
}
template <typename T>
T sum(const T& mine) {
  return reduce(mine, [](const T& a, const T& b) { return a + b; });
}

// Ends the program's initialisation for the placement of pages, if the first barrier is not the place for it.
inline void initialised() {
  space::here().initialised();
}

}  // namespace weft
