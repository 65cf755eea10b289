// A fiber: a stack of its own that one thread runs on for a while, then leaves, then comes back to. What the deterministic tests and
// the simulator have in place of threads: many of them in one thread, switched by plain calls, so that whoever switches decides the
// order of everything.
//
// A switch saves the callee-saved registers and takes a few nanoseconds; it makes no system call. The sanitizers are told of it.
//
// Threads: a fiber stays in the thread that made it. What is thread-local is shared by all fibers of a thread, except for the
// exceptions that are being handled, which each fiber has for itself.
#pragma once

#include <array>
#include <cstddef>
#include <functional>

namespace weft::testbed {

class fiber {
 public:
  static constexpr std::size_t default_stack = std::size_t{256} << 10;  // lazily backed, with a guard page below it

  // The thread that makes it, as something that fibers can go back to.
  fiber() noexcept;

  // Runs `body` when it is first switched to, and goes to `then` when that returns. `body` lets no exception out. Throws
  // std::bad_alloc when there is no memory for the stack.
  fiber(std::function<void()> body, fiber& then, std::size_t stack_bytes = default_stack);

  // Of one that is not running. What is still on its stack is given up, not destroyed.
  ~fiber();
  fiber(const fiber&) = delete;
  fiber& operator=(const fiber&) = delete;

  // Leaves this fiber, which is the one that runs, and continues `next`. Returns when somebody switches back.
  void switch_to(fiber& next) noexcept { next.enter_from(*this, false); }

  bool finished() const noexcept { return finished_; }

 private:
  void enter_from(fiber& from, bool for_good) noexcept;
  void arrived(void* from_context) noexcept;
  [[noreturn]] void run() noexcept;
  friend struct entry_point;

  void* context_ = nullptr;     // where to continue, while it does not run
  std::byte* stack_ = nullptr;  // guard page included; null for a thread's own
  std::size_t stack_bytes_ = 0;
  std::function<void()> body_;
  fiber* then_ = nullptr;
  fiber* came_from_ = nullptr;  // who switched here last
  bool finished_ = false;
  std::array<void*, 2> handled_{};  // the exceptions being handled, while it does not run

  // For the sanitizers.
  [[maybe_unused]] void* fake_stack_ = nullptr;
  const void* bottom_ = nullptr;
  std::size_t usable_ = 0;
  [[maybe_unused]] void* thread_sanitizers_ = nullptr;
};

}  // namespace weft::testbed
