#include "testbed/fiber.h"

#include <cassert>
#include <cstring>
#include <cxxabi.h>
#include <new>
#include <utility>

#include <boost/context/detail/fcontext.hpp>
#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#define WEFT_FIBERS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WEFT_FIBERS_ASAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define WEFT_FIBERS_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WEFT_FIBERS_TSAN 1
#endif
#endif

#if defined(WEFT_FIBERS_ASAN)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(WEFT_FIBERS_TSAN)
#include <sanitizer/tsan_interface.h>
#endif

namespace weft::testbed {

namespace context = boost::context::detail;

namespace {

constexpr std::size_t guard_bytes = 4096;

// What the C++ runtime keeps for a thread: the exceptions that are being handled and how many are uncaught.
using exceptions = std::array<void*, 2>;

exceptions take_exceptions() noexcept {
  exceptions e;
  std::memcpy(e.data(), abi::__cxa_get_globals(), sizeof e);
  return e;
}

void put_exceptions(const exceptions& e) noexcept {
  std::memcpy(abi::__cxa_get_globals(), e.data(), sizeof e);
}

}  // namespace

struct entry_point {
  static void enter(context::transfer_t t) {
    auto* self = static_cast<fiber*>(t.data);
    self->arrived(t.fctx);
    self->run();
  }
};

fiber::fiber() noexcept {
#if defined(WEFT_FIBERS_TSAN)
  thread_sanitizers_ = __tsan_get_current_fiber();
#endif
}

fiber::fiber(std::function<void()> body, fiber& then, std::size_t stack_bytes) : body_(std::move(body)), then_(&then) {
  stack_bytes_ = (stack_bytes + guard_bytes - 1) / guard_bytes * guard_bytes + guard_bytes;
  void* at = ::mmap(nullptr, stack_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) throw std::bad_alloc();
  stack_ = static_cast<std::byte*>(at);
  ::mprotect(stack_, guard_bytes, PROT_NONE);
  usable_ = stack_bytes_ - guard_bytes;
  bottom_ = stack_ + guard_bytes;
  context_ = context::make_fcontext(stack_ + stack_bytes_, usable_, &entry_point::enter);
#if defined(WEFT_FIBERS_TSAN)
  thread_sanitizers_ = __tsan_create_fiber(0);
#endif
}

fiber::~fiber() {
  if (!stack_) return;
#if defined(WEFT_FIBERS_ASAN)
  __asan_unpoison_memory_region(bottom_, usable_);  // the next mapping here is somebody else's
#endif
#if defined(WEFT_FIBERS_TSAN)
  __tsan_destroy_fiber(thread_sanitizers_);
#endif
  ::munmap(stack_, stack_bytes_);
}

void fiber::enter_from(fiber& from, bool for_good) noexcept {
  assert(!finished_ && context_ != nullptr && this != &from);
  came_from_ = &from;
  from.handled_ = take_exceptions();
  put_exceptions(handled_);
  void* where = std::exchange(context_, nullptr);
#if defined(WEFT_FIBERS_ASAN)
  __sanitizer_start_switch_fiber(for_good ? nullptr : &from.fake_stack_, bottom_, usable_);
#else
  (void)for_good;
#endif
#if defined(WEFT_FIBERS_TSAN)
  __tsan_switch_to_fiber(thread_sanitizers_, 0);
#endif
  const auto back = context::jump_fcontext(where, this);
  from.arrived(back.fctx);
}

// On the fiber itself, right after a switch to it. Whoever was left can be continued from now on.
void fiber::arrived(void* from_context) noexcept {
#if defined(WEFT_FIBERS_ASAN)
  const void* bottom = nullptr;
  std::size_t size = 0;
  __sanitizer_finish_switch_fiber(fake_stack_, &bottom, &size);
  if (!came_from_->stack_) came_from_->bottom_ = bottom, came_from_->usable_ = size;
#endif
  came_from_->context_ = from_context;
}

void fiber::run() noexcept {
  body_();
  body_ = nullptr;
  finished_ = true;
  then_->enter_from(*this, true);
  __builtin_unreachable();
}

}  // namespace weft::testbed
