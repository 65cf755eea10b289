// The bindings of a node, and the thread that flushes those whose stores do not arrive by themselves. It sleeps while there are none, and
// wakes as often as the shortest delay asks for.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <weft/vmmc.h>

#include "vmmc/bound_memory.h"

namespace weft::communication {

class updater {
 public:
  explicit updater(port& at) : port_(at) {}
  ~updater() { stop(); }

  result<std::shared_ptr<bound_memory>> bind(const imported& to, std::uint64_t offset, std::size_t size, binding_options options);
  status flush(node_id node);
  void forget(const bound_memory& b);  // returns when the thread does not touch it any more
  void stop();

 private:
  using clock = std::chrono::steady_clock;

  result<std::shared_ptr<bound_memory>> make(const imported& to, std::uint64_t offset, std::size_t size,
                                             const binding_options& options);
  void add(std::shared_ptr<bound_memory> b);
  void work();
  static clock::time_point due_of(const bound_memory& b);

  port& port_;
  std::atomic<std::size_t> count_{0};  // of bindings: so that a fence without any costs a load
  std::mutex lock_;                    // guards everything below
  std::condition_variable changed_;
  struct entry {
    std::shared_ptr<bound_memory> memory;
    clock::time_point due;  // when the thread will flush it
  };
  std::vector<entry> bindings_;
  const bound_memory* busy_ = nullptr;  // what the thread flushes now
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace weft::communication
