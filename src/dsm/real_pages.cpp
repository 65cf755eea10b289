#include "dsm/real_pages.h"

#include <cstring>
#include <mutex>

#include <sys/mman.h>

namespace weft::dsm {

namespace {

os::page_range range_of(extent e) {
  return {e.first, e.last};
}

}  // namespace

result<std::unique_ptr<real_pages>> real_pages::create(std::byte* base, page_id count, const engine_maker& make_engine) {
  const std::size_t size = std::size_t{count} * page_bytes;
  std::unique_ptr<real_pages> p(new real_pages);
  p->count_ = count;
  auto file = os::create_memory_file("weft shared memory", size);
  if (!file) return file.failure();
  p->file_ = std::move(*file);
  auto system = os::map_file(p->file_.get(), 0, size, true);
  if (!system) return system.failure();
  p->system_ = std::move(*system);
  auto twins = os::reserve(size);
  if (!twins) return twins.failure();
  p->twins_ = std::move(*twins);
  ::madvise(p->twins_.base(), size, MADV_HUGEPAGE);  // where the kernel has none, nothing is lost
  auto places = os::reserve(count * sizeof(std::uint32_t));
  if (!places) return places.failure();
  p->twin_places_ = std::move(*places);
  for (page_set* s : {&p->noted_, &p->cached_, &p->twinned_}) {
    auto made = page_set::create(count);
    if (!made) return made.failure();
    *s = std::move(*made);
  }
  auto engine = make_engine(base, size, p->file_.get());
  if (!engine) return engine.failure();
  p->engine_ = std::move(*engine);
  return p;
}

// A page gets a place for its twin with its first one, and keeps it.
void real_pages::make_twins(extent e) {
  for (page_id p = e.first; p < e.last; ++p) {
    std::uint32_t& place = twin_place(p);
    if (place == 0) place = ++twins_used_;
    std::memcpy(twin(p), system_.base() + std::size_t{p} * page_bytes, page_bytes);
  }
}

// An engine that records writes by itself gives no chance to make the twin later.
void real_pages::open_cached(extent e) {
  const bool at_once = engine_->records_writes();
  if (at_once) make_twins(e);
  {
    std::scoped_lock lock(sets_lock_);
    for (page_id p = e.first; p < e.last; ++p) {
      noted_.insert(p);
      cached_.insert(p);
      if (at_once)
        twinned_.insert(p);
      else
        twinned_.erase(p);
    }
  }
  engine_->open_watched(range_of(e));
}

void real_pages::open_watched(extent e) {
  {
    std::scoped_lock lock(sets_lock_);
    for (page_id p = e.first; p < e.last; ++p) noted_.insert(p);
  }
  engine_->open_watched(range_of(e));
}

void real_pages::open_free(extent e) {
  {
    std::scoped_lock lock(sets_lock_);
    for (page_id p = e.first; p < e.last; ++p) noted_.erase(p);
  }
  engine_->open_free(range_of(e));
}

void real_pages::close(extent e) {
  {
    std::scoped_lock lock(sets_lock_);
    for (page_id p = e.first; p < e.last; ++p) noted_.erase(p), cached_.erase(p);
  }
  engine_->close(range_of(e));
}

void real_pages::watch(extent e) {
  engine_->watch(range_of(e));
  std::scoped_lock lock(sets_lock_);
  for (page_id p = e.first; p < e.last; ++p) noted_.insert(p);
}

// A twin that is there stays: what was written since it was made has not been taken yet.
void real_pages::first_write(page_id p) {
  if (engine_->records_writes()) return;
  bool missing;
  {
    std::scoped_lock lock(sets_lock_);
    missing = cached_.contains(p) && !twinned_.contains(p);
    if (missing) twinned_.insert(p);
  }
  if (missing) make_twins({p, p + 1});
  engine_->note_write(p);
}

// Asks the engine in as few steps as possible: a step costs as much as looking at some hundred pages. Then those that were written are
// watched again, before their changes are taken: a write in between is among the changes, a later one is noted anew.
void real_pages::take_written(std::vector<page_id>& into) {
  constexpr page_id worth_a_step = 256;
  std::vector<os::page_range> ranges, found, written;
  {
    std::scoped_lock lock(sets_lock_);
    if (noted_.size() == 0) return;
    for (page_id first = noted_.next(0); first < count_;) {
      page_id last = noted_.next_absent(first);
      page_id next = noted_.next(last);
      while (next < count_ && next - last < worth_a_step) {
        last = noted_.next_absent(next);
        next = noted_.next(last);
      }
      ranges.push_back({first, last});
      first = next;
    }
  }
  for (const auto& r : ranges) engine_->find_written(r, found);
  {
    std::scoped_lock lock(sets_lock_);
    for (const auto& f : found)
      for (std::size_t p = f.first; p < f.last; ++p) {
        if (!noted_.contains(static_cast<page_id>(p))) continue;
        into.push_back(static_cast<page_id>(p));
        if (!written.empty() && written.back().last == p)
          ++written.back().last;
        else
          written.push_back({p, p + 1});
      }
  }
  for (const auto& w : written) engine_->watch(w);
}

bool real_pages::take_changes(page_id p, changes& into) {
  {
    std::scoped_lock lock(sets_lock_);
    if (!twinned_.contains(p)) return false;  // never written
  }
  return into.add(std::uint64_t{p} * page_bytes, system_.base() + std::size_t{p} * page_bytes, twin(p), page_bytes);
}

// A page without a twin cannot be written until its entry is given back.
bytes real_pages::taken(page_id p) {
  std::scoped_lock lock(sets_lock_);
  if (cached_.contains(p) && twinned_.contains(p)) return {twin(p), page_bytes};
  return frame(p);
}

}  // namespace weft::dsm
