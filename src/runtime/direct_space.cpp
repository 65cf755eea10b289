#include "runtime/direct_space.h"

#include <cerrno>
#include <csignal>
#include <cstring>

#include <sys/mman.h>
#include <unistd.h>

#include "base/text.h"
#include "runtime/common_file.h"
#include "runtime/region.h"

namespace weft::runtime {

namespace {

constexpr std::size_t gather_bytes = 2 * space::most_gathered;  // for each node: two sets, because a node may be one gather ahead

}  // namespace

result<std::unique_ptr<direct_space>> direct_space::create(port& p, const dsm::exchange& with_all) {
  const std::size_t header_pages = (sizeof(header) + p.nodes() * gather_bytes + dsm::page_bytes - 1) / dsm::page_bytes;
  os::unique_fd file;
  if (p.nodes() > 1) {
    auto common = common_memory_file(p, header_pages * dsm::page_bytes, with_all);
    if (!common) return common.failure();
    file = std::move(*common);
  }
  const int access = file ? PROT_READ | PROT_WRITE : PROT_NONE, kind = file ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
  void* at = ::mmap(region_base, region_bytes, access, kind | MAP_FIXED_NOREPLACE | MAP_NORESERVE, file.get(), 0);
  if (at != region_base) return base::system_failure("mapping the shared region", at == MAP_FAILED ? errno : EEXIST);
  os::mapping region(region_base, region_bytes);
  os::leave_out_of_core_dumps(region);
  if (!file && ::mprotect(region_base, header_pages * dsm::page_bytes, PROT_READ | PROT_WRITE) != 0)
    return base::system_failure("opening the shared region", errno);
  if (p.self() == 0) ::new (region.base()) header(p.nodes());
  std::unique_ptr<direct_space> s(new direct_space(p, std::move(file), std::move(region)));
  if (auto made = s->make_heap(header_pages, with_all); !made) return made;
  with_all({});  // nobody uses the header before it is made
  return s;
}

status direct_space::make_heap(std::size_t header_pages, const dsm::exchange& with_all) {
  heap_offset_ = header_pages * dsm::page_bytes;
  const auto grow = [this](dsm::page_id end) {
    const auto size = std::size_t{end} * dsm::page_bytes;
    return file_ ? grow_file(heap_offset_ + size) : open_memory(size);
  };
  auto heap = dsm::heap::create(port_, region_base + heap_offset_, region_pages - static_cast<dsm::page_id>(header_pages), nullptr,
                                grow, with_all);
  if (!heap) return heap.failure();
  heap_ = std::move(*heap);
  return os::set_trap(trapped_signal(), *this);
}

// A byte is written at the new end: of all ways to grow a file, this cannot shrink it when two nodes grow it at once.
status direct_space::grow_file(std::size_t size) {
  if (::pwrite(file_.get(), "", 1, static_cast<off_t>(size - 1)) == 1) return {};
  return base::system_failure("growing the shared memory", errno);
}

// Only opens, so threads that grow the heap at once may do it in any order.
status direct_space::open_memory(std::size_t heap_bytes) {
  std::byte* const heap = region_.base() + heap_offset_;
  if (::mprotect(heap, heap_bytes, PROT_READ | PROT_WRITE) != 0) return base::system_failure("growing the memory", errno);
  ::madvise(heap, heap_bytes, MADV_HUGEPAGE);  // where the kernel has none, nothing is lost
  return {};
}

direct_space::~direct_space() {
  os::clear_trap(trapped_signal(), *this);
}

int direct_space::trapped_signal() const noexcept {
  return file_ ? SIGBUS : SIGSEGV;
}

// Without a file the access has raised SIGSEGV. With one, it does when it is repeated, as it does with software coherence.
bool direct_space::on_trap(void* address, bool) {
  auto* at = static_cast<std::byte*>(address);
  if (!owns(at) || at < region_.base() + heap_offset_) return false;
  const auto page = static_cast<std::size_t>(at - region_.base() - heap_offset_) / dsm::page_bytes;
  const auto used = heap_->ever_used(static_cast<dsm::page_id>(page));
  if (!used || *used) return false;  // something else is wrong, for example with the machine's memory
  std::byte* first = region_.base() + heap_offset_ + page * dsm::page_bytes;
  say_not_allocated(self(), first);
  if (!file_) return false;
  ::mprotect(first, dsm::page_bytes, PROT_NONE);
  return true;
}

void* direct_space::allocate(std::size_t size, std::size_t alignment, placement where) {
  return heap_->allocate(size, alignment, where).or_throw();
}

void* direct_space::allocate_together(std::size_t size, std::size_t alignment, placement where) {
  const dsm::heap::meeting with_all{[&](bytes mine, mutable_bytes all) { return gather(mine, all), status(); },
                                    [&] { return barrier(), status(); }};
  return heap_->allocate_together(size, alignment, where, with_all).or_throw();
}

void direct_space::release(void* p) {
  heap_->release(p).or_throw();
}

bool direct_space::owns(const void* p) const noexcept {
  return p >= region_.base() && p < region_.base() + region_.size();
}

sync_object& direct_space::object(sync_object& o) {
  const auto n = o.number.load(std::memory_order_relaxed);  // who uses the object has been told of it by its maker
  if (!(n & elsewhere)) return o;
  if ((n ^ elsewhere) >= common_objects)
    throw error(errc::too_large, "more than 65536 mutexes and the like outside the shared memory; make them in it");
  return header_.common[n ^ elsewhere];
}

void direct_space::meet(const void* caller) {
  const auto here = next_barrier(caller);
  header_.meeting.arrive_and_wait([] {},
                                  [&](auto&& wait) {
                                    const wait_note noted(*this, here);
                                    wait();
                                  });
  note_met();
}

void direct_space::barrier() {
  meet(__builtin_return_address(0));
}

wait_record direct_space::waits_for(const wait_record& w) {
  using base::event;
  if (w.what == wait_kind::mutex || w.what == wait_kind::shared_mutex) note(event::lock_waits);
  if (w.what == wait_kind::value) note(event::value_waits);
  if (w.what == wait_kind::condition) note(event::condition_waits);
  return note(w);
}

std::optional<node_id> direct_space::holder(const wait_record& w) {
  if ((w.what != wait_kind::mutex && w.what != wait_kind::shared_mutex) || !owns(reinterpret_cast<const void*>(w.object))) return {};
  const auto state = reinterpret_cast<const sync_object*>(w.object)->state.load(std::memory_order_relaxed);  // true a moment ago
  if (state < writer || holder_in(state) >= nodes()) return {};
  return holder_in(state);
}

std::byte* direct_space::gathered() const noexcept {
  return region_.base() + sizeof(header);
}

void direct_space::gather(bytes mine, mutable_bytes all) {
  if (mine.size() > most_gathered) throw error(errc::too_large, "more than 1024 bytes in a reduction");
  const std::size_t set = (gathers_++ % 2) * most_gathered;
  std::memcpy(gathered() + self() * gather_bytes + set, mine.data(), mine.size());
  meet(__builtin_return_address(0));
  for (node_id n = 0; n < nodes(); ++n) std::memcpy(all.data() + n * mine.size(), gathered() + n * gather_bytes + set, mine.size());
}

}  // namespace weft::runtime
