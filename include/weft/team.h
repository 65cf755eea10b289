// team: the threads that do a program's work, on all nodes.
//
//   weft::team team(threads);                          // so many on each node
//   team.run([&](weft::worker& me) {
//     auto [first, last] = me.share_of(rows);          // of all workers of all nodes
//     for (int step = 0; step < steps; ++step) {
//       relax(grid, first, last);
//       me.barrier();
//     }
//   });
//
// The same source is a threaded program when it is compiled with -DWEFT_THREADS_ONLY (weft/detail/threads_only.h): one process, plain
// memory, the same algorithms for barriers and locks.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <weft/detail/local_barrier.h>
#include <weft/memory.h>
#include <weft/sync.h>

namespace weft {

class team;

// One of the threads. Belongs to it alone.
class worker {
 public:
  std::uint32_t rank() const noexcept { return rank_; }  // in all of the job: node by node
  std::uint32_t size() const noexcept { return size_; }
  std::uint32_t thread() const noexcept { return thread_; }  // on this node

  // This worker's part of [0, count): the first and one past the last.
  std::pair<std::size_t, std::size_t> share_of(std::size_t count) const noexcept {
    return {count * rank_ / size_, count * (rank_ + 1) / size_};
  }

  // All workers meet.
  void barrier();

  // All workers: combines one value of each in the order of their ranks. Also a barrier.
  template <typename T, typename Operation>
  T reduce(const T& mine, Operation combine);
  template <typename T>
  T sum(const T& mine) {
    return reduce(mine, [](const T& a, const T& b) { return a + b; });
  }

 private:
  friend class team;
  worker(team& of, std::uint32_t thread) noexcept;

  team& team_;
  std::uint32_t thread_, rank_, size_;
};

class team {
 public:
  // Together: all nodes make their teams with the same number of threads, at least one.
  explicit team(std::uint32_t threads = 1) : threads_(threads), meeting_(threads), gathered_(threads) {}
  team(const team&) = delete;
  team& operator=(const team&) = delete;

  std::uint32_t threads() const noexcept { return threads_; }
  std::uint32_t workers() const noexcept { return threads_ * space::here().nodes(); }

  // Runs `work` on every worker; the calling thread is the first of them. Returns when this node's workers have returned, which
  // says nothing of the others'. The first exception of a worker is thrown again here.
  template <typename Work>
  void run(Work&& work) {
    std::exception_ptr failure;
    std::mutex failure_lock;  // guards failure
    auto one = [&](std::uint32_t thread) {
      if (thread != 0) space::here().thread_begins(thread);
      try {
        worker me(*this, thread);
        work(me);
      } catch (...) {
        std::scoped_lock lock(failure_lock);
        if (!failure) failure = std::current_exception();
        meeting_.abandon();  // those who wait for this worker
      }
      if (thread != 0) space::here().thread_ends();
    };
    std::vector<std::thread> others;
    for (std::uint32_t t = 1; t < threads_; ++t) others.emplace_back(one, t);
    one(0);
    for (auto& t : others) t.join();
    if (failure) std::rethrow_exception(failure);
  }

 private:
  friend class worker;

  // This node's threads meet, and the last one does what is left to do.
  template <typename Last>
  void meet(Last&& last) {
    meeting_.arrive_and_wait(last, [](auto&& wait) {
      const wait_note noted(space::here(), {wait_kind::team});
      wait();
    });
  }

  const std::uint32_t threads_;
  local_barrier meeting_;                         // of this node's threads
  std::vector<std::vector<std::byte>> gathered_;  // by thread: what it gives to a reduction; written before they meet
  std::vector<std::byte> everybody_;              // by worker; written by the last thread to arrive
};

inline worker::worker(team& of, std::uint32_t thread) noexcept
    : team_(of), thread_(thread), rank_(space::here().self() * of.threads_ + thread), size_(of.workers()) {}

inline void worker::barrier() {
  team_.meet([] { space::here().barrier(); });
}

template <typename T, typename Operation>
T worker::reduce(const T& mine, Operation combine) {
  static_assert(std::is_trivially_copyable_v<T>);
  if (team_.threads_ * sizeof(T) > space::most_gathered)
    throw error(errc::too_large, "more than 1024 bytes of a node in a reduction");
  const auto b = std::as_bytes(std::span<const T, 1>(&mine, 1));
  team_.gathered_[thread_].assign(b.begin(), b.end());
  team_.meet([this] {
    std::vector<std::byte> ours;
    for (const auto& one : team_.gathered_) ours.insert(ours.end(), one.begin(), one.end());
    team_.everybody_.resize(ours.size() * space::here().nodes());
    space::here().gather(ours, team_.everybody_);
  });
  T result{};
  for (std::uint32_t w = 0; w < size_; ++w) {
    T value;
    std::memcpy(&value, team_.everybody_.data() + w * sizeof(T), sizeof(T));
    result = w == 0 ? value : combine(result, value);
  }
  team_.meeting_.arrive_and_wait([] {});  // everybody has read
  return result;
}

}  // namespace weft
