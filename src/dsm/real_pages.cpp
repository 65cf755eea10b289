#include "dsm/real_pages.h"

#include <algorithm>
#include <cstring>
#include <mutex>

#include <sys/mman.h>

namespace weft::dsm {

namespace {

os::page_range range_of(extent e) {
  return {e.first, e.last};
}

}  // namespace

result<std::unique_ptr<real_pages>> real_pages::create(std::byte* base, page_id count, const engine_maker& make_engine,
                                                       os::unique_fd file) {
  const std::size_t size = std::size_t{count} * page_bytes;
  std::unique_ptr<real_pages> p(new real_pages);
  p->count_ = count;
  p->base_ = base;
  p->file_ = std::move(file);
  if (!p->file_) {
    auto own = os::create_memory_file("weft shared memory", size);
    if (!own) return own.failure();
    p->file_ = std::move(*own);
  }
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

real_pages::~real_pages() {
  if (stores_) stores_->leave_table();
}

hooks::store_map& real_pages::take_reports(bool from_hooks) {
  stores_ = std::make_unique<hooks::store_map>(mutable_bytes(base_, std::size_t{count_} * page_bytes));
  if (from_hooks && !stores_->enter_table()) throw error(errc::too_large, "too many doubled bindings are in use");
  return *stores_;
}

// A page gets a place for its twin with its first one, and keeps it. With the twin's lock.
void real_pages::make_twin(page_id p) {
  std::uint32_t& place = twin_place(p);
  if (place == 0) place = ++twins_used_;
  std::memcpy(twin(p), system_.base() + std::size_t{p} * page_bytes, page_bytes);
}

bool real_pages::twinned(page_id p) {
  std::scoped_lock lock(sets_lock_);
  return twinned_.contains(p);
}

// An engine that records writes by itself gives no chance to make the twin later.
void real_pages::open_cached(extent e) {
  note_exactly(e);
  engine_->open_watched(range_of(e));
}

void real_pages::note_exactly(extent e) {
  if (stores_) {
    // What was stored while the page was at home here, or in an earlier copy, is no change of this one. A store that faulted is to come.
    std::vector<run> earlier;
    //~ aurc_keeps_old_marks
    for (page_id p = e.first; p < e.last; ++p) stores_->take(p, earlier, false);
  }
  const bool at_once = engine_->records_writes() && !stores_;
  for (page_id p = e.first; p < e.last; ++p) {
    std::scoped_lock lock(twin_lock(p));
    //~ twin_missing
    if (at_once) make_twin(p);
    std::scoped_lock sets(sets_lock_);
    noted_.insert(p);
    cached_.insert(p);
    if (at_once)
      twinned_.insert(p);
    else
      //~ twin_of_an_earlier_copy
      twinned_.erase(p);
  }
}

void real_pages::open_watched(extent e) {
  {
    std::scoped_lock lock(sets_lock_);
    for (page_id p = e.first; p < e.last; ++p) noted_.insert(p);
  }
  engine_->open_watched(range_of(e));
}

void real_pages::open_free(extent e) {
  bool open = false;
  {
    std::scoped_lock lock(sets_lock_);
    open = noted_.contains(e.first) && noted_.next_absent(e.first) >= e.last;
    for (page_id p = e.first; p < e.last; ++p) noted_.erase(p), cached_.erase(p);
  }
  open ? engine_->unwatch(range_of(e)) : engine_->open_free(range_of(e));
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

// Watched first: a write that comes before the twin is noted and not among the changes; one that comes after it is both.
void real_pages::mirror(extent e) {
  engine_->watch(range_of(e));
  note_exactly(e);
}

// A twin that is there stays: what was written since it was made has not been taken yet.
void real_pages::first_write(page_id p) {
  if (engine_->records_writes()) return;
  {
    std::scoped_lock lock(twin_lock(p));
    std::scoped_lock sets(sets_lock_);
    //~ twin_made_twice
    const bool missing = !stores_ && cached_.contains(p) && !twinned_.contains(p);
    if (missing) make_twin(p);
    if (missing) twinned_.insert(p);
  }
  engine_->note_write(p);
}

// Asks the engine in few steps: one costs as much as looking at a hundred pages that are closed, or at twenty that are free, of which
// each counts as written. Then those that were written are watched again, before their changes are taken: a write in between is among
// the changes, a later one is noted anew.
void real_pages::take_written(std::vector<page_id>& into) {
  constexpr page_id worth_a_step = 32;
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
      for (page_id first = noted_.next(static_cast<page_id>(f.first)); first < f.last;) {
        const page_id last = std::min(noted_.next_absent(first), static_cast<page_id>(f.last));
        written.push_back({first, last});
        for (page_id p = first; p < last; ++p) into.push_back(p);
        first = noted_.next(last);
      }
  }
  for (const auto& w : written) engine_->watch(w);
}

// The bytes come from the frame: the view may be closed.
bool real_pages::take_stores(page_id p, changes& into) {
  std::vector<run> stored;
  stores_->take(p, stored, true);
  //~ aurc_sends_a_byte_less
  for (const run& r : stored) into.add_run(r.offset, {system_.base() + r.offset, r.data.size()});
  return !stored.empty();
}

bool real_pages::take_changes(page_id p, changes& into) {
  if (stores_) return take_stores(p, into);
  std::scoped_lock lock(twin_lock(p));
  if (!twinned(p)) return false;  // never written
  return into.add(p, system_.base() + std::size_t{p} * page_bytes, twin(p));
}

void real_pages::read(page_id p, std::byte* into) {
  std::scoped_lock lock(twin_lock(p));
  const bool exactly = [&] {
    std::scoped_lock sets(sets_lock_);
    return cached_.contains(p) && twinned_.contains(p);
  }();
  std::memcpy(into, exactly ? twin(p) : system_.base() + std::size_t{p} * page_bytes, page_bytes);
}

// Into the twin as well: otherwise the next comparison would find it, and send it on as if it were ours.
void real_pages::update(const patch& changed) {
  const page_id p = changed.page();
  std::scoped_lock lock(twin_lock(p));
  changed.apply(system_.base() + std::size_t{p} * page_bytes, twinned(p) ? twin(p) : nullptr);
}

}  // namespace weft::dsm
