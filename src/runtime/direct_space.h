// Shared memory where all nodes are on one host: one set of frames that everybody maps, and the processor keeps it coherent.
//
// The file of the frames ends where the memory in use ends, so that an access behind it is a fault (SIGBUS). A job of one node needs no
// file: it has private memory, in huge pages if the kernel gives them on request, which it does not for files by default. What is not
// in use is closed there (SIGSEGV).
#pragma once

#include <memory>

#include <weft/hardware_space.h>

#include "dsm/heap.h"
#include "os/fault_trap.h"
#include "os/memory_file.h"
#include "runtime/observed.h"

namespace weft::runtime {

class direct_space final : public hardware_space, public observed, private os::trap_target {
 public:
  // Collective.
  static result<std::unique_ptr<direct_space>> create(port& p, const dsm::exchange& with_all);

  ~direct_space() override;

  node_id self() const noexcept override { return port_.self(); }
  node_id nodes() const noexcept override { return port_.nodes(); }

  void* allocate(std::size_t size, std::size_t alignment, placement where) override;
  void* allocate_together(std::size_t size, std::size_t alignment, placement where) override;
  void release(void* p) override;
  bool owns(const void* p) const noexcept override;
  void touch(const void*, std::size_t, bool) override {}

  void name(sync_object&) override {}  // the object is its own words
  using hardware_space::barrier;
  void barrier() override;
  void gather(bytes mine, mutable_bytes all) override;
  void initialised() override {}

  wait_record waits_for(const wait_record& w) override;
  void thread_begins(std::uint32_t number) override { note_begin(number); }
  void thread_ends() override { note_end(); }
  const char* protocol() const noexcept override { return "direct"; }
  std::optional<node_id> holder(const wait_record& w) override;

 private:
  static constexpr std::size_t common_objects = 65536;

  // What lies at the start of the region.
  struct header {
    explicit header(std::uint32_t nodes) : meeting(nodes) {}
    local_barrier meeting;
    sync_object common[common_objects];  // of objects that lie elsewhere
  };

  direct_space(port& p, os::unique_fd file, os::mapping region)
      : hardware_space(p.self()),
        observed(p.activity()),
        port_(p),
        file_(std::move(file)),
        region_(std::move(region)),
        header_(*reinterpret_cast<header*>(region_.base())) {
    count_locks(activity_ && activity_->timed());
  }
  void meet(const void* caller);
  void count_lock() override { note(base::event::lock_acquires); }
  sync_object& object(sync_object& o) override;
  std::byte* gathered() const noexcept;
  status make_heap(std::size_t header_pages, const dsm::exchange& with_all);
  status grow_file(std::size_t size);
  status open_memory(std::size_t heap_bytes);
  int trapped_signal() const noexcept;
  bool on_trap(void* address, bool write) override;

  port& port_;
  const os::unique_fd file_;  // none for one node
  os::mapping region_;
  header& header_;
  std::size_t heap_offset_ = 0;
  std::unique_ptr<dsm::heap> heap_;
  std::uint64_t gathers_ = 0;  // of the thread that gathers
};

}  // namespace weft::runtime
