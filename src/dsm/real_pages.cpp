#include "dsm/real_pages.h"

#include <cstring>
#include <mutex>

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
  for (page_set* s : {&p->noted_, &p->free_, &p->cached_, &p->twinned_}) {
    auto made = page_set::create(count);
    if (!made) return made.failure();
    *s = std::move(*made);
  }
  auto engine = make_engine(base, size, p->file_.get());
  if (!engine) return engine.failure();
  p->engine_ = std::move(*engine);
  return p;
}

void real_pages::make_twins(extent e) {
  std::memcpy(twin(e.first), system_.base() + std::size_t{e.first} * page_bytes, std::size_t{e.count()} * page_bytes);
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
    for (page_id p = e.first; p < e.last; ++p) noted_.insert(p), free_.erase(p);
  }
  engine_->open_watched(range_of(e));
}

void real_pages::open_free(extent e) {
  {
    std::scoped_lock lock(sets_lock_);
    for (page_id p = e.first; p < e.last; ++p) noted_.erase(p), free_.insert(p);
  }
  engine_->open_free(range_of(e));
}

void real_pages::close(extent e) {
  {
    std::scoped_lock lock(sets_lock_);
    for (page_id p = e.first; p < e.last; ++p) noted_.erase(p), free_.erase(p), cached_.erase(p);
  }
  engine_->close(range_of(e));
}

void real_pages::watch(extent e) {
  engine_->watch(range_of(e));
  std::scoped_lock lock(sets_lock_);
  for (page_id p = e.first; p < e.last; ++p) free_.erase(p), noted_.insert(p);
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

// Asks the engine in as few steps as possible: a gap of closed pages does not end a range, a free page does.
void real_pages::take_written(std::vector<page_id>& into) {
  std::vector<os::page_range> ranges, written;
  {
    std::scoped_lock lock(sets_lock_);
    if (noted_.size() == 0) return;
    for (page_id first = noted_.next(0); first < count_;) {
      page_id last = noted_.next_absent(first);
      page_id next = noted_.next(last);
      while (next < count_ && next - last < 32 && free_.next(last) > next) {
        last = noted_.next_absent(next);
        next = noted_.next(last);
      }
      ranges.push_back({first, last});
      first = next;
    }
  }
  for (const auto& r : ranges) engine_->take_written(r, written);
  std::scoped_lock lock(sets_lock_);
  for (const auto& w : written)
    for (std::size_t p = w.first; p < w.last; ++p)
      if (noted_.contains(static_cast<page_id>(p))) into.push_back(static_cast<page_id>(p));
}

bool real_pages::take_changes(page_id p, changes& into) {
  {
    std::scoped_lock lock(sets_lock_);
    if (!twinned_.contains(p)) return false;  // never written
  }
  return into.add(std::uint64_t{p} * page_bytes, system_.base() + std::size_t{p} * page_bytes, twin(p), page_bytes);
}

}  // namespace weft::dsm
