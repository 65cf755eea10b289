// Shared memory where all nodes are on one host: one set of frames that everybody maps, and the processor keeps it coherent.
//
// The memory is closed at first, and what is not in use stays closed, so that an access to it is a fault. A node opens what is in use
// where it touches it first, two MiB at a time, and makes a huge page of them: nodes have page tables of their own, which would take the
// processor's caches from the program. Kernels give a memory file no huge pages of themselves by default, and only at this moment, when
// there is nothing to copy, asking for one takes less time than the faults of the small pages.
//
// A job of one node needs no file: it has private memory, opened where it comes into use, in huge pages if the kernel gives them on
// request.
#pragma once

#include <array>
#include <atomic>
#include <memory>

#include <weft/detail/hardware_space.h>

#include "dsm/heap.h"
#include "os/fault_trap.h"
#include "os/memory_file.h"
#include "space/observed.h"
#include "space/region.h"

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
  void touch(const void* p, std::size_t size, bool for_writing) override;

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

  static constexpr std::size_t huge_page_bytes = 2 << 20;

  // Memory of which hardly anything is used takes more in huge pages than in small ones. So they are given out up to half of what the
  // machine had to spare when the job started.
  struct huge_pages {
    explicit huge_pages(std::size_t most) : left(static_cast<std::int64_t>(most / huge_page_bytes)) {}
    bool takes(
        std::size_t number);  // whether the caller is to make this one: it is the first to ask for it, and there are some left

    std::atomic<std::int64_t> left;
    std::array<std::atomic<std::uint64_t>, region_bytes / huge_page_bytes / 64> taken{};  // a bit each
  };

  // What lies at the start of the region.
  struct header {
    header(std::uint32_t nodes, std::size_t most_huge) : meeting(nodes), huge(most_huge) {}
    local_barrier meeting;
    huge_pages huge;
    std::atomic<dsm::page_id> in_use{0};  // pages of the heap; only grows
    sync_object common[common_objects];   // of objects that lie elsewhere
  };

  direct_space(port& p, os::mapping region, std::byte* heap)
      : hardware_space(p.self()),
        observed(p.activity()),
        port_(p),
        region_(std::move(region)),
        first_(heap),
        header_(*reinterpret_cast<header*>(region_.base())) {
    count_locks(activity_ && activity_->timed());
  }
  void meet(const void* caller);
  void count_lock() override { note(observe::event::lock_acquires); }
  sync_object& object(sync_object& o) override;
  std::byte* gathered() const noexcept;
  status make_heap(const dsm::exchange& with_all);
  status grow(dsm::page_id end);
  std::byte* end() const noexcept;  // of what is in use
  bool on_trap(void* address, bool write) override;
  bool open_around(std::byte* at);

  port& port_;
  os::mapping region_;
  std::byte* const first_;  // of the heap
  header& header_;
  std::unique_ptr<dsm::heap> heap_;
  std::uint64_t gathers_ = 0;  // of the thread that gathers
};

}  // namespace weft::runtime
