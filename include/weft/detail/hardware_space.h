// Synchronisation where all participants share memory in hardware: the threads of one process (weft/detail/threads_only.h) and the nodes
// of one host under `direct`. The objects are words; the processor's own atomic operations do the rest.
//
// What is left to the derived class: memory, and where the words of an object are that does not lie in shared memory.
#pragma once

#include <weft/detail/local_barrier.h>
#include <weft/detail/patience.h>
#include <weft/detail/space.h>
#include <weft/detail/thread_number.h>

namespace weft {

class hardware_space : public space {
 public:
  // The state of a mutex: the number of readers, or `writer`, the node that holds it and which of its threads.
  bool lock(sync_object& m, duration limit) override { return lock_as(wait_kind::mutex, m, limit); }
  void unlock(sync_object& m) override {
    auto& o = object(m);
    // Relaxed: if this thread holds it, nobody changes it.
    if (o.state.load(std::memory_order_relaxed) != mine()) throw error(errc::invalid_argument, detail::not_the_holder);
    o.state.store(0);
    if (o.sleepers.load() != 0) detail::wake_all(o.state);
  }

  bool lock(sync_object& m, bool writing, duration limit) override {
    if (writing) return lock_as(wait_kind::shared_mutex, m, limit);
    if (counts_locks_) count_lock();
    auto& o = object(m);
    return wait_until({wait_kind::shared_mutex}, m, o, limit, [&] {
      std::uint64_t readers = o.state.load(std::memory_order_relaxed);
      return readers < writer &&
             o.state.compare_exchange_strong(readers, readers + 1, std::memory_order_acquire, std::memory_order_relaxed);
    });
  }
  void unlock(sync_object& m, bool writing) override {
    if (writing) return unlock(m);
    auto& o = object(m);
    const auto readers = o.state.fetch_sub(1);
    if (readers == 0 || readers >= writer)
      throw error(errc::invalid_argument, "a shared mutex was unlocked by a reader, and it has none");
    if (readers == 1 && o.sleepers.load() != 0) detail::wake_all(o.state);
  }

  std::uint64_t add(sync_object& w, std::uint64_t amount) override {
    auto& o = object(w);
    const auto before = o.state.fetch_add(amount);
    if (o.sleepers.load() != 0) detail::wake_all(o.state);
    return before;
  }
  void store(sync_object& w, std::uint64_t value) override {
    auto& o = object(w);
    o.state.store(value);
    if (o.sleepers.load() != 0) detail::wake_all(o.state);
  }
  std::uint64_t load(sync_object& w) override { return object(w).state.load(std::memory_order_acquire); }
  bool wait_at_least(sync_object& w, std::uint64_t value, duration limit) override {
    auto& o = object(w);
    return wait_until({.what = wait_kind::value, .detail = value}, w, o, limit,
                      [&] { return o.state.load(std::memory_order_acquire) >= value; });
  }

  // The state of a condition counts notifications.
  bool wait(sync_object& condition, sync_object& mutex, duration limit) override {
    auto& o = object(condition);
    const auto seen = o.state.load();
    unlock(mutex);
    const bool notified =
        wait_until({wait_kind::condition}, condition, o, limit, [&] { return o.state.load(std::memory_order_acquire) != seen; });
    lock(mutex, for_ever);
    return notified;
  }
  void notify(sync_object& condition, bool all) override {
    auto& o = object(condition);
    o.state.fetch_add(1);
    if (o.sleepers.load() != 0) detail::wake(o.state, all ? INT_MAX : 1);
  }

  // The state of a barrier: the generation, and in the low 16 bits how many have arrived.
  void barrier(sync_object& b, std::uint32_t participants) override {
    auto& o = object(b);
    const auto before = o.state.fetch_add(1);
    const auto generation = before >> 16;
    if ((before & 0xffff) + 1 == participants) {
      o.state.store((generation + 1) << 16);
      if (o.sleepers.load() != 0) detail::wake_all(o.state);
      return;
    }
    wait_until({.what = wait_kind::group_barrier, .detail = participants}, b, o, for_ever,
               [&] { return o.state.load(std::memory_order_acquire) >> 16 != generation; });
  }

 protected:
  explicit hardware_space(node_id self) noexcept : writer_here_(writer | std::uint64_t{self} << 32) {}

  static constexpr std::uint64_t writer = std::uint64_t{1} << 63;  // the low half, which sleepers look at, is the thread
  static node_id holder_in(std::uint64_t state) noexcept { return static_cast<node_id>((state & ~writer) >> 32); }

  // Whether count_lock is to be called whenever somebody locks.
  void count_locks(bool yes) noexcept { counts_locks_ = yes; }
  virtual void count_lock() {}

  // The words of an object: its own, or those of its number.
  virtual sync_object& object(sync_object& o) = 0;

 private:
  [[gnu::always_inline]] bool lock_as(wait_kind what, sync_object& m, duration limit) {
    if (counts_locks_) count_lock();
    auto& o = object(m);
    std::uint64_t free = 0;
    const std::uint64_t me = mine();
    // Acquire pairs with the release in unlock.
    if (o.state.compare_exchange_strong(free, me, std::memory_order_acquire, std::memory_order_relaxed)) return true;
    return wait_until({what}, m, o, limit, [&] {
      std::uint64_t expected = 0;
      return o.state.load(std::memory_order_relaxed) == 0 &&
             o.state.compare_exchange_strong(expected, me, std::memory_order_acquire, std::memory_order_relaxed);
    });
  }

  // Waits until `ready` holds; only a wait that does not end at once is noted. Inline, so that the caller is the program.
  template <typename Ready>
  [[gnu::always_inline]] bool wait_until(wait_record w, const sync_object& known_as, sync_object& o, duration limit,
                                         Ready&& ready) {
    if (ready()) return true;
    if (limit == duration::zero()) return false;
    w.object = reinterpret_cast<std::uint64_t>(&o);
    w.address = &known_as;
    w.caller = __builtin_return_address(0);
    const wait_note noted(*this, w);
    return detail::wait_until(o.state, o.sleepers, limit, ready);
  }

  std::uint64_t mine() const noexcept { return writer_here_ | detail::thread_number(); }

  const std::uint64_t writer_here_;
  bool counts_locks_ = false;
};

}  // namespace weft
