// For functions of weft's that stand in front of the C library's.
#pragma once

#include <dlfcn.h>

#include <atomic>

namespace weft::os {

// The function of the same name further on in the order of libraries: the C library's, or a sanitizer's before it. Called with
// arguments of exactly the types of its parameters. Any thread, and signal handlers.
template <typename Result>
class next {
 public:
  constexpr explicit next(const char* name) : name_(name) {}

  template <typename... Arguments>
  Result operator()(Arguments... arguments) {
    void* f = found_.load(std::memory_order_relaxed);  // whoever looks for it finds the same one
    if (!f) {
      f = ::dlsym(RTLD_NEXT, name_);
      found_.store(f, std::memory_order_relaxed);
    }
    return reinterpret_cast<Result (*)(Arguments...)>(f)(arguments...);
  }

 private:
  const char* name_;
  std::atomic<void*> found_{nullptr};
};

}  // namespace weft::os
