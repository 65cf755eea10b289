// The functions that -fsanitize=thread makes the compiler call, defined by weft instead of the sanitizer. A program that is compiled with
// it and linked with one of weft's hook libraries, not with the sanitizer's, reports its references to that library.
//
// Included once, by the source of a hook library, which has defined before, in an unnamed namespace:
//   loaded(const void* at, std::size_t size)   the program loads so many bytes
//   stored(const void* at, std::size_t size)   it stores them
// A plain access is reported before it is made, an atomic one after: atomic operations are calls, and are performed here. The source is
// compiled without instrumentation.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace {

template <typename T>
std::atomic<T>& atomic_at(volatile T* at) noexcept {
  return *reinterpret_cast<std::atomic<T>*>(const_cast<T*>(at));
}

}  // namespace

extern "C" {

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_read(void** at) {
  loaded(at, sizeof(void*));
}
void __tsan_vptr_update(void** at, void*) {
  stored(at, sizeof(void*));
}
void __tsan_read_range(void* at, unsigned long size) {
  loaded(at, size);
}
void __tsan_write_range(void* at, unsigned long size) {
  stored(at, size);
}

#define WEFT_ACCESS(size)                            \
  void __tsan_read##size(void* at) {                 \
    loaded(at, size);                                \
  }                                                  \
  void __tsan_write##size(void* at) {                \
    stored(at, size);                                \
  }                                                  \
  void __tsan_read_write##size(void* at) {           \
    loaded(at, size);                                \
    stored(at, size);                                \
  }                                                  \
  void __tsan_volatile_read##size(void* at) {        \
    loaded(at, size);                                \
  }                                                  \
  void __tsan_volatile_write##size(void* at) {       \
    stored(at, size);                                \
  }                                                  \
  void __tsan_unaligned_read##size(void* at) {       \
    loaded(at, size);                                \
  }                                                  \
  void __tsan_unaligned_write##size(void* at) {      \
    stored(at, size);                                \
  }                                                  \
  void __tsan_unaligned_read_write##size(void* at) { \
    loaded(at, size);                                \
    stored(at, size);                                \
  }

WEFT_ACCESS(1)
WEFT_ACCESS(2)
WEFT_ACCESS(4)
WEFT_ACCESS(8)
WEFT_ACCESS(16)

// The orders of the call are at least as weak as the one used.
#define WEFT_ATOMIC(bits)                                                                                                          \
  using weft_a##bits = std::uint##bits##_t;                                                                                        \
  weft_a##bits __tsan_atomic##bits##_load(const volatile weft_a##bits* at, int) {                                                  \
    const auto value = atomic_at(const_cast<volatile weft_a##bits*>(at)).load();                                                   \
    loaded(const_cast<const weft_a##bits*>(at), sizeof value);                                                                     \
    return value;                                                                                                                  \
  }                                                                                                                                \
  void __tsan_atomic##bits##_store(volatile weft_a##bits* at, weft_a##bits v, int) {                                               \
    atomic_at(at).store(v);                                                                                                        \
    stored(const_cast<weft_a##bits*>(at), sizeof v);                                                                               \
  }                                                                                                                                \
  WEFT_ATOMIC_CHANGE(bits, exchange, exchange)                                                                                     \
  WEFT_ATOMIC_CHANGE(bits, fetch_add, fetch_add)                                                                                   \
  WEFT_ATOMIC_CHANGE(bits, fetch_sub, fetch_sub)                                                                                   \
  WEFT_ATOMIC_CHANGE(bits, fetch_and, fetch_and)                                                                                   \
  WEFT_ATOMIC_CHANGE(bits, fetch_or, fetch_or)                                                                                     \
  WEFT_ATOMIC_CHANGE(bits, fetch_xor, fetch_xor)                                                                                   \
  weft_a##bits __tsan_atomic##bits##_fetch_nand(volatile weft_a##bits* at, weft_a##bits v, int) {                                  \
    auto old = __atomic_fetch_nand(at, v, __ATOMIC_SEQ_CST);                                                                       \
    stored(const_cast<weft_a##bits*>(at), sizeof v);                                                                               \
    return old;                                                                                                                    \
  }                                                                                                                                \
  int __tsan_atomic##bits##_compare_exchange_strong(volatile weft_a##bits* at, weft_a##bits* expected, weft_a##bits v, int, int) { \
    const bool changed = atomic_at(at).compare_exchange_strong(*expected, v);                                                      \
    if (changed) stored(const_cast<weft_a##bits*>(at), sizeof v);                                                                  \
    return changed;                                                                                                                \
  }                                                                                                                                \
  int __tsan_atomic##bits##_compare_exchange_weak(volatile weft_a##bits* at, weft_a##bits* expected, weft_a##bits v, int a,        \
                                                  int b) {                                                                         \
    return __tsan_atomic##bits##_compare_exchange_strong(at, expected, v, a, b);                                                   \
  }                                                                                                                                \
  weft_a##bits __tsan_atomic##bits##_compare_exchange_val(volatile weft_a##bits* at, weft_a##bits expected, weft_a##bits v, int a, \
                                                          int b) {                                                                 \
    __tsan_atomic##bits##_compare_exchange_strong(at, &expected, v, a, b);                                                         \
    return expected;                                                                                                               \
  }

#define WEFT_ATOMIC_CHANGE(bits, name, operation)                                             \
  weft_a##bits __tsan_atomic##bits##_##name(volatile weft_a##bits* at, weft_a##bits v, int) { \
    const auto old = atomic_at(at).operation(v);                                              \
    stored(const_cast<weft_a##bits*>(at), sizeof v);                                          \
    return old;                                                                               \
  }

WEFT_ATOMIC(8)
WEFT_ATOMIC(16)
WEFT_ATOMIC(32)
WEFT_ATOMIC(64)

void __tsan_atomic_thread_fence(int) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
}
void __tsan_atomic_signal_fence(int) {
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

// The library's functions are not instrumented; the link option --wrap brings calls of them here.
void* __real_memcpy(void* to, const void* from, std::size_t size);
void* __real_memmove(void* to, const void* from, std::size_t size);
void* __real_memset(void* to, int value, std::size_t size);

void* __wrap_memcpy(void* to, const void* from, std::size_t size) {
  loaded(from, size);
  stored(to, size);
  return __real_memcpy(to, from, size);
}
void* __wrap_memmove(void* to, const void* from, std::size_t size) {
  loaded(from, size);
  stored(to, size);
  return __real_memmove(to, from, size);
}
void* __wrap_memset(void* to, int value, std::size_t size) {
  stored(to, size);
  return __real_memset(to, value, size);
}

// Clang's names for the same.
void* __tsan_memcpy(void* to, const void* from, std::size_t size) {
  return __wrap_memcpy(to, from, size);
}
void* __tsan_memmove(void* to, const void* from, std::size_t size) {
  return __wrap_memmove(to, from, size);
}
void* __tsan_memset(void* to, int value, std::size_t size) {
  return __wrap_memset(to, value, size);
}

}  // extern "C"
