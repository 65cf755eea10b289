// The page engine on protection and SIGSEGV, for kernels without the newer userfaultfd, and for containers that forbid it.
#include <atomic>
#include <bit>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <mutex>

#include <sys/mman.h>
#include <unistd.h>

#include "base/text.h"
#include "os/fault_trap.h"
#include "os/memory_file.h"
#include "os/page_engine.h"
#include "os/spin.h"

namespace weft::os {

namespace {

class mprotect_page_engine final : public page_engine, private trap_target {
 public:
  mprotect_page_engine(mapping view, mapping marks, fault_handler& handler)
      : page_engine(view.base(), view.size(), handler), view_(std::move(view)), marks_(std::move(marks)) {}
  ~mprotect_page_engine() override { clear_trap(SIGSEGV, *this); }

  status start() { return set_trap(SIGSEGV, *this); }

  const char* name() const noexcept override { return "mprotect"; }
  bool records_writes() const noexcept override { return false; }

  void open_watched(page_range pages) override { set(pages, PROT_READ); }
  void open_free(page_range pages) override { set(pages, PROT_READ | PROT_WRITE); }
  void close(page_range pages) override { set(pages, PROT_NONE); }
  void watch(page_range pages) override { set(pages, PROT_READ); }

  void reopen(std::size_t) override {}  // protection outlives paging
  void note_write(std::size_t page) override {
    std::scoped_lock lock(marks_lock_);
    mark_word(page).fetch_or(bit(page));
    protect({page, page + 1}, PROT_READ | PROT_WRITE);
  }

  void find_written(page_range among, std::vector<page_range>& into) override {
    std::scoped_lock lock(marks_lock_);
    const std::size_t before = into.size();
    for (std::size_t p = among.first; p < among.last;) {
      const std::uint64_t here = mark_word(p).load() & ~std::uint64_t{0} << p % 64;
      if (here == 0) {
        p = (p / 64 + 1) * 64;
        continue;
      }
      p = p / 64 * 64 + static_cast<std::size_t>(std::countr_zero(here));
      if (p >= among.last) break;
      if (into.size() > before && into.back().last == p)
        ++into.back().last;
      else
        into.push_back({p, p + 1});
      ++p;
    }
  }

 private:
  static std::uint64_t bit(std::size_t page) { return std::uint64_t{1} << page % 64; }
  std::atomic<std::uint64_t>& mark_word(std::size_t page) {
    return reinterpret_cast<std::atomic<std::uint64_t>*>(marks_.base())[page / 64];
  }
  void unmark(std::size_t page) {
    if (mark_word(page).load(std::memory_order_relaxed) & bit(page)) mark_word(page).fetch_and(~bit(page));
  }
  void set(page_range pages, int how) {
    std::scoped_lock lock(marks_lock_);
    for (std::size_t p = pages.first; p < pages.last; ++p) unmark(p);
    protect(pages, how);
  }
  void protect(page_range pages, int how) {
    if (::mprotect(address_of(pages.first), pages.count() * page_bytes, how) == 0) return;
    complaint_.store(errno, std::memory_order_relaxed);
  }

  // Rather than fault for ever.
  [[noreturn]] static void end_for_lack_of_mappings() {
    static constexpr char sentence[] =
        "weft: the kernel allows no more mappings, of which the page engine mprotect needs one for every run of pages; use "
        "--engine "
        "uffd, or 'sysctl -w vm.max_map_count=1048576'\n";
    if (::write(STDERR_FILENO, sentence, sizeof sentence - 1) < 0) ::abort();
    ::_exit(70);
  }

  bool on_trap(void* address, bool write) override {
    if (!covers(address)) return false;
    if (complaint_.load(std::memory_order_relaxed) == ENOMEM) end_for_lack_of_mappings();
    return handler_.on_fault(page_of(address), write);
  }

  mapping view_;
  spin_lock marks_lock_;  // a page's mark and its protection change together: marked means watched and writable
  mapping marks_;         // a bit a page that was written; lazily backed
  std::atomic<int> complaint_{0};
};

}  // namespace

result<std::unique_ptr<page_engine>> detail::mprotect_engine(std::byte* base, std::size_t size, int file,
                                                             page_engine::fault_handler& handler) {
  void* at = ::mmap(base, size, PROT_NONE, MAP_SHARED | MAP_FIXED_NOREPLACE | MAP_NORESERVE, file, 0);
  if (at != base) return base::system_failure("mapping the shared region", at == MAP_FAILED ? errno : EEXIST);
  mapping view(base, size);
  leave_out_of_core_dumps(view);
  auto marks = reserve(size / page_bytes / 8 + 8);
  if (!marks) return marks.failure();
  auto engine = std::make_unique<mprotect_page_engine>(std::move(view), std::move(*marks), handler);
  if (auto started = engine->start(); !started) return started;
  return std::unique_ptr<page_engine>(std::move(engine));
}

}  // namespace weft::os
