#include "vmmc/tracked_memory.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <sys/mman.h>

#include "base/text.h"
#include "vmmc/changed_words.h"

namespace weft::communication {

namespace {

result<os::mapping> private_memory(std::size_t size) {
  void* at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return base::system_failure("allocating memory for a binding", errno);
  return os::mapping(static_cast<std::byte*>(at), size);
}

}  // namespace

result<std::shared_ptr<bound_memory>> tracked_memory::make(updater& by, const imported& to, std::uint64_t offset, std::size_t size,
                                                           const binding_options& options) {
  const std::size_t whole = os::round_to_pages(size);
  if (!options.local.empty() &&
      (reinterpret_cast<std::uintptr_t>(options.local.data()) % os::page_bytes != 0 || size % os::page_bytes != 0))
    return {errc::invalid_argument, "local memory of a tracked binding starts at a page and is whole pages of 4096 bytes"};
  os::mapping own;
  std::byte* bound = options.local.data();
  if (options.local.empty()) {
    auto made = private_memory(whole);
    if (!made) return made.failure();
    own = std::move(*made);
    bound = own.base();
  }
  auto twins = private_memory(whole);
  if (!twins) return twins.failure();
  auto tracker = os::write_tracker::create(bound, whole);
  if (!tracker) return tracker.failure();
  if (!options.local.empty()) std::memcpy(twins->base(), bound, whole);  // protected already: a store from now on is recorded
  return std::shared_ptr<bound_memory>(std::make_shared<tracked_memory>(by, to, offset, options, mutable_bytes(bound, size),
                                                                        std::move(own), std::move(*twins), std::move(*tracker)));
}

void tracked_memory::collect(std::vector<run>& runs, bool) {
  written_.clear();
  quiet_.clear();
  tracker_->written(written_);
  for (const auto& pages : written_) compare(pages, runs);
  for (const auto& pages : quiet_) {
    tracker_->protect(pages);
    for (std::size_t p = pages.first; p < pages.last; ++p) take_changes(p, runs);
  }
}

bool tracked_memory::take_changes(std::size_t page, std::vector<run>& runs) {
  const std::size_t at = page * os::page_bytes;
  return take_changed_words(bound_.data() + at, twins_.base() + at, std::min(os::page_bytes, bound_.size() - at), at, runs);
}

void tracked_memory::compare(os::page_range pages, std::vector<run>& runs) {
  for (std::size_t p = pages.first; p < pages.last; ++p) {
    if (take_changes(p, runs)) continue;
    if (!quiet_.empty() && quiet_.back().last == p)
      ++quiet_.back().last;
    else
      quiet_.push_back({p, p + 1});
  }
}

}  // namespace weft::communication
