// Shared memory kept coherent in software: real pages, a protocol, and synchronisation that carries its notices.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <weft/detail/space.h>

#include "dsm/chores.h"
#include "dsm/heap.h"
#include "dsm/protocol.h"
#include "dsm/real_pages.h"
#include "space/observed.h"
#include "space/protocols.h"
#include "space/region.h"
#include "sync/barriers.h"
#include "sync/locks.h"
#include "sync/releases.h"
#include "sync/words.h"

namespace weft::runtime {

// Makes a node's page engine, whose faults go to the handler.
using engine_source = std::function<result<std::unique_ptr<os::page_engine>>(std::byte* base, std::size_t size, int file,
                                                                             os::page_engine::fault_handler&)>;
engine_source engine_of_kernel(os::page_engine::way how);

// Makes a node's pages, whose faults go to the handler: for a machine that has no real ones.
using pages_source =
    std::function<result<std::unique_ptr<dsm::pages>>(std::byte* base, dsm::page_id count, os::page_engine::fault_handler&)>;

inline constexpr std::size_t default_protocol_memory = std::size_t{64} << 20;

struct space_options {
  std::string protocol;  // a name of space/protocols.h
  engine_source engine = engine_of_kernel(os::page_engine::way::best);
  pages_source memory = nullptr;  // null: real pages on the engine
  dsm::page_id pages = region_pages;
  node_id barrier_fan_in = 4;     // of barriers that carry notices
  bool managers_in_turn = false;  // mutexes, flags and counters are managed by all nodes in turn, not by the node that makes them
  bool reports_stores = false;    // stored() will be called, also if the program has no hooks
  std::size_t protocol_memory = default_protocol_memory;      // lrc: bytes for intervals and diffs
  bool first_copies_fetched = false;                          // lrc: a node's first copy of a page comes from another's
  std::function<std::unique_ptr<dsm::chores>()> chores = {};  // who does what handlers cannot; without one, no release is put off
};

class software_space final : public space, public observed, private os::page_engine::fault_handler {
 public:
  // Collective.
  static result<std::unique_ptr<software_space>> create(port& p, const space_options& options, const dsm::exchange& with_all);

  node_id self() const noexcept override { return port_.self(); }
  node_id nodes() const noexcept override { return port_.nodes(); }

  void* allocate(std::size_t size, std::size_t alignment, placement where) override;
  void* allocate_together(std::size_t size, std::size_t alignment, placement where) override;
  void release(void* p) override;
  bool owns(const void* p) const noexcept override;
  void touch(const void* p, std::size_t size, bool for_writing) override;

  void name(sync_object& o) override;
  bool lock(sync_object& m, duration limit) override;
  void unlock(sync_object& m) override;
  bool lock(sync_object& m, bool writing, duration limit) override;
  void unlock(sync_object& m, bool writing) override;
  std::uint64_t add(sync_object& w, std::uint64_t amount) override;
  void store(sync_object& w, std::uint64_t value) override;
  std::uint64_t load(sync_object& w) override;
  bool wait_at_least(sync_object& w, std::uint64_t value, duration limit) override;
  bool wait(sync_object& condition, sync_object& mutex, duration limit) override;
  void notify(sync_object& condition, bool all) override;
  void barrier() override;
  void barrier_within() override;
  void barrier(sync_object& b, std::uint32_t participants) override;
  void gather(bytes mine, mutable_bytes all) override;
  void initialised() override;

  wait_record waits_for(const wait_record& w) override { return note(w); }
  void thread_begins(std::uint32_t number) override { note_begin(number); }
  void thread_ends() override { note_end(); }
  // The program is about to store there: where it was not built to say so by itself.
  void stored(const void* p, std::size_t size) {
    if (stores_) stores_->mark(static_cast<const std::byte*>(p), size);
  }

  const char* protocol() const noexcept override { return protocol_->name(); }
  const char* engine() const noexcept override { return pages_->engine(); }
  dsm::protocol_statistics statistics() const override { return protocol_->statistics(); }
  std::size_t unseen(bytes told) { return protocol_->unseen(told); }  // see dsm::protocol
  dsm::page_profile* profile() noexcept override { return in_place_ ? nullptr : profile_.get(); }
  observe::allocation_log* allocations() noexcept override { return &allocations_; }
  std::vector<std::uint64_t> held() override { return locks_->held(); }

 private:
  explicit software_space(port& p) : observed(p.activity()), port_(p) {}
  status build(const space_options& options, const dsm::exchange& with_all);
  status make_pages(const space_options& options, const known_protocol& known, const dsm::exchange& with_all);
  bool on_fault(std::size_t page, bool write) override;
  bool have(dsm::page_id p, bool write);  // false: there is no such page
  sync::object_number number_of(sync_object& o) const;
  std::uint64_t update(sync_object& w, const sync::words::change& how, const void* caller);
  void after_barrier();

  port& port_;
  bool in_place_ = false;          // the frames of all nodes are one piece of memory
  bool managers_in_turn_ = false;  // see space_options
  // In the order in which they stand on one another; they go in the reverse order.
  std::unique_ptr<dsm::pages> pages_;
  hooks::store_map* stores_ = nullptr;          // of real pages that take reports
  std::unique_ptr<dsm::page_profile> profile_;  // the pages as everything above sees them
  std::unique_ptr<dsm::page_table> table_;
  std::unique_ptr<dsm::homes> homes_;
  std::unique_ptr<dsm::protocol> protocol_;
  std::unique_ptr<sync::releases> releases_;
  std::unique_ptr<sync::locks> locks_;
  std::unique_ptr<sync::words> words_;
  std::unique_ptr<sync::barriers> barriers_;
  std::unique_ptr<dsm::heap> heap_;
  std::unique_ptr<dsm::chores> chores_;  // of locks_; ends before these
  std::atomic<std::uint32_t> named_{0};  // objects that this node has made in shared memory
  std::atomic<bool> initialised_{false};
  observe::allocation_log allocations_;
};

}  // namespace weft::runtime
