#include "space/direct_space.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include <sys/mman.h>

#include "base/text.h"
#include "space/common_file.h"
#include "space/region.h"

namespace weft::runtime {

namespace {

constexpr std::size_t gather_bytes = 2 * space::most_gathered;  // for each node: two sets, because a node may be one gather ahead

#ifndef MADV_COLLAPSE
constexpr int MADV_COLLAPSE = 25;  // Linux 6.1
#endif

// Only opens, so any number of threads may do it at once, in any order.
// Has the page there, whatever it holds.
void look_at(const std::byte* at) {
  static_cast<void>(*static_cast<const volatile std::byte*>(at));
}

bool open_memory(std::byte* first, std::byte* last) {
  return ::mprotect(first, static_cast<std::size_t>(last - first), PROT_READ | PROT_WRITE) == 0;
}

// The kernel looks at the one page that is there, finds the rest missing, and makes one huge page of it all. Where it cannot, or has
// been told not to, there are small pages: nothing is lost.
void make_huge(std::byte* first, std::size_t size) {
  look_at(first);
  ::madvise(first, size, MADV_COLLAPSE);
}

// What the kernel could give to programs now, in bytes.
std::size_t available_memory() {
  std::ifstream about("/proc/meminfo");
  std::size_t kilobytes = 0;
  for (std::string line; std::getline(about, line);)
    if (line.starts_with("MemAvailable:")) kilobytes = std::strtoul(line.c_str() + 13, nullptr, 10);
  return kilobytes * 1024;
}

}  // namespace

result<std::unique_ptr<direct_space>> direct_space::create(port& p, const dsm::exchange& with_all) {
  const std::size_t header_pages = (sizeof(header) + p.nodes() * gather_bytes + dsm::page_bytes - 1) / dsm::page_bytes;
  os::unique_fd file;
  if (p.nodes() > 1) {
    auto common = common_memory_file(p, region_bytes, with_all);
    if (!common) return common.failure();
    file = std::move(*common);
  }
  const int kind = file ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
  void* at = ::mmap(region_base, region_bytes, PROT_NONE, kind | MAP_FIXED_NOREPLACE | MAP_NORESERVE, file.get(), 0);
  if (at != region_base) return base::system_failure("mapping the shared region", at == MAP_FAILED ? errno : EEXIST);
  os::mapping region(region_base, region_bytes);
  os::leave_out_of_core_dumps(region);
  std::byte* const heap = region.base() + header_pages * dsm::page_bytes;
  if (!open_memory(region.base(), heap)) return base::system_failure("opening the shared region", errno);
  if (p.self() == 0) ::new (region.base()) header(p.nodes(), available_memory() / 2);
  std::unique_ptr<direct_space> s(new direct_space(p, std::move(region), heap));
  with_all({});  // nobody uses the header before it is made
  if (auto made = s->make_heap(with_all); !made) return made;
  return s;
}

status direct_space::make_heap(const dsm::exchange& with_all) {
  const auto pages =
      static_cast<dsm::page_id>(static_cast<std::size_t>(region_.base() + region_.size() - first_) / dsm::page_bytes);
  auto heap = dsm::heap::create(
      port_, first_, pages, nullptr, [this](dsm::page_id end) { return grow(end); }, with_all);
  if (!heap) return heap.failure();
  heap_ = std::move(*heap);
  return os::set_trap(SIGSEGV, *this);
}

status direct_space::grow(dsm::page_id end) {
  auto& in_use = header_.in_use;
  // Relaxed: who is told of memory by another thread sees that it is in use.
  for (auto known = in_use.load(std::memory_order_relaxed);
       known < end && !in_use.compare_exchange_weak(known, end, std::memory_order_relaxed);) {
  }
  if (nodes() > 1) return {};
  if (!open_memory(first_, this->end())) return base::system_failure("growing the memory", errno);
  ::madvise(first_, static_cast<std::size_t>(this->end() - first_), MADV_HUGEPAGE);  // where the kernel has none, nothing is lost
  return {};
}

direct_space::~direct_space() {
  os::clear_trap(SIGSEGV, *this);
}

std::byte* direct_space::end() const noexcept {
  return first_ + std::size_t{header_.in_use.load(std::memory_order_relaxed)} * dsm::page_bytes;
}

bool direct_space::on_trap(void* address, bool) {
  auto* const at = static_cast<std::byte*>(address);
  if (at < first_ || !owns(at)) return false;
  if (at < end()) return nodes() > 1 && open_around(at);  // in a job of one, something else is wrong
  say_not_allocated(self(), at - static_cast<std::size_t>(at - first_) % dsm::page_bytes);
  return false;
}

// Memory at the end of what is in use is opened up to there, in small pages; what comes into use behind it later, likewise.
bool direct_space::open_around(std::byte* at) {
  const auto number = static_cast<std::size_t>(at - region_.base()) / huge_page_bytes;
  std::byte* const huge = region_.base() + number * huge_page_bytes;
  std::byte* const last = std::min(huge + huge_page_bytes, end());
  // Closed and open memory by turns are mappings of the kernel's, of which a process has 65,530. All that is in use, open, is one.
  if (!open_memory(huge, last) && !open_memory(region_.base(), end())) return false;
  if (last == huge + huge_page_bytes && header_.huge.takes(number)) make_huge(huge, huge_page_bytes);
  return true;
}

bool direct_space::huge_pages::takes(std::size_t number) {
  // Relaxed: nothing hangs on it but memory.
  const auto bit = std::uint64_t{1} << number % 64;
  if (taken[number / 64].fetch_or(bit, std::memory_order_relaxed) & bit) return false;
  return left.fetch_sub(1, std::memory_order_relaxed) > 0;
}

void direct_space::touch(const void* p, std::size_t size, bool) {
  if (size == 0 || !owns(p)) return;
  const auto from = static_cast<std::size_t>(static_cast<const std::byte*>(p) - region_.base());
  const auto to = std::min(from + std::min(size, region_.size()), static_cast<std::size_t>(end() - region_.base()));
  for (auto at = from; at < to; at += dsm::page_bytes - at % dsm::page_bytes) look_at(region_.base() + at);
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
  using observe::event;
  if (w.what == wait_kind::mutex || w.what == wait_kind::shared_mutex) note(event::lock_waits);
  if (w.what == wait_kind::value) note(event::value_waits);
  if (w.what == wait_kind::condition) note(event::condition_waits);
  return note(w);
}

std::optional<node_id> direct_space::holder(const wait_record& w) {
  if ((w.what != wait_kind::mutex && w.what != wait_kind::shared_mutex) || !owns(reinterpret_cast<const void*>(w.object)))
    return {};
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
