// A weft program as a plain threaded program: compile it with -DWEFT_THREADS_ONLY and link nothing. One process, memory from the C
// library, teams of std::thread, and the same barriers and locks as weft uses between the nodes of one host. For measuring what
// weft costs, and for debugging with the tools that know threads.
#pragma once

#include <cstdlib>
#include <cstring>
#include <string>

#include <weft/detail/hardware_space.h>
#include <weft/memory.h>
#include <weft/sync.h>
#include <weft/team.h>

namespace weft {

class threads_only_space final : public hardware_space {
 public:
  threads_only_space() noexcept : hardware_space(0) {}
  node_id self() const noexcept override { return 0; }
  node_id nodes() const noexcept override { return 1; }

  void* allocate(std::size_t size, std::size_t alignment, placement) override {
    const std::size_t whole = (std::max<std::size_t>(size, 1) + alignment - 1) / alignment * alignment;
    void* p = std::aligned_alloc(std::max(alignment, sizeof(void*)), whole);
    if (!p) throw error(errc::too_large, "no memory left");
    std::memset(p, 0, whole);
    return p;
  }
  void* allocate_together(std::size_t size, std::size_t alignment, placement where) override {
    return allocate(size, alignment, where);
  }
  void release(void* p) override { std::free(p); }
  bool owns(const void*) const noexcept override { return true; }
  void touch(const void*, std::size_t, bool) override {}

  void name(sync_object&) override {}
  void barrier() override {}
  using hardware_space::barrier;
  void gather(bytes mine, mutable_bytes all) override { std::memcpy(all.data(), mine.data(), mine.size()); }
  void initialised() override {}

 private:
  sync_object& object(sync_object& o) override { return o; }
};

inline space& space::here() {
  static threads_only_space only;
  return only;
}

inline void space::adopt(sync_object&) {}

class job {
 public:
  job() = default;
  job(int, char**) {}
  node_id self() const noexcept { return 0; }
  node_id nodes() const noexcept { return 1; }
  std::size_t hosts() const noexcept { return 1; }
  std::string way() const { return "threads only"; }
  void meet() {}
  std::pair<std::size_t, std::size_t> share_of(std::size_t count) const noexcept { return {0, count}; }
};

}  // namespace weft
