// The space as a simulated program sees it. Behind it is weft's own, whose instructions are not the program's while it synchronises: what that
// costs is known from what it does. Its code has no hooks, but the linker may have given it those templates of the standard library that the
// program uses too, with the program's hooks in them.
#pragma once

#include <weft/detail/space.h>

#include "sim/machine/processor.h"

namespace weft::sim {

class program_space final : public space {
 public:
  program_space(space& behind, processor& on) noexcept : space_(behind), processor_(on) {}

  node_id self() const noexcept override { return space_.self(); }
  node_id nodes() const noexcept override { return space_.nodes(); }

  void* allocate(std::size_t size, std::size_t alignment, placement where) override {
    return space_.allocate(size, alignment, where);
  }
  void* allocate_together(std::size_t size, std::size_t alignment, placement where) override {
    return space_.allocate_together(size, alignment, where);
  }
  void release(void* p) override { space_.release(p); }
  bool owns(const void* p) const noexcept override { return space_.owns(p); }
  void touch(const void* p, std::size_t size, bool for_writing) override { space_.touch(p, size, for_writing); }

  void name(sync_object& o) override { space_.name(o); }
  bool lock(sync_object& m, duration limit) override {
    return within([&] { return space_.lock(m, limit); });
  }
  void unlock(sync_object& m) override {
    within([&] { space_.unlock(m); });
  }
  bool lock(sync_object& m, bool writing, duration limit) override {
    return within([&] { return space_.lock(m, writing, limit); });
  }
  void unlock(sync_object& m, bool writing) override {
    within([&] { space_.unlock(m, writing); });
  }
  std::uint64_t add(sync_object& w, std::uint64_t amount) override {
    return within([&] { return space_.add(w, amount); });
  }
  void store(sync_object& w, std::uint64_t value) override {
    within([&] { space_.store(w, value); });
  }
  std::uint64_t load(sync_object& w) override {
    return within([&] { return space_.load(w); });
  }
  bool wait_at_least(sync_object& w, std::uint64_t value, duration limit) override {
    return within([&] { return space_.wait_at_least(w, value, limit); });
  }
  bool wait(sync_object& condition, sync_object& mutex, duration limit) override {
    return within([&] { return space_.wait(condition, mutex, limit); });
  }
  void notify(sync_object& condition, bool all) override {
    within([&] { space_.notify(condition, all); });
  }
  void barrier() override {
    within([&] { space_.barrier(); });
  }
  void barrier_within() override {
    within([&] { space_.barrier_within(); });
  }
  void barrier(sync_object& b, std::uint32_t participants) override {
    within([&] { space_.barrier(b, participants); });
  }
  void gather(bytes mine, mutable_bytes all) override {
    within([&] { space_.gather(mine, all); });
  }
  void initialised() override { space_.initialised(); }

  wait_record waits_for(const wait_record& w) override { return space_.waits_for(w); }
  void thread_begins(std::uint32_t number) override { space_.thread_begins(number); }
  void thread_ends() override { space_.thread_ends(); }

  // Where the program synchronised last. What weft's own space knows of its caller is this class.
  const void* caller() const noexcept { return caller_; }

 private:
  // Inlined, so that what it returns to is the caller of the function that it stands in.
  template <typename Do>
  [[gnu::always_inline]] auto within(Do&& what) -> decltype(what()) {
    caller_ = __builtin_return_address(0);
    const processor::outside_program not_counted(processor_);
    return what();
  }

  space& space_;
  processor& processor_;
  const void* caller_ = nullptr;
};

}  // namespace weft::sim
