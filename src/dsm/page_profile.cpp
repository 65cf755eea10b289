#include "dsm/page_profile.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "base/counters.h"

namespace weft::dsm {

namespace {

constexpr auto relaxed = std::memory_order_relaxed;  // see record

// Not by a locked operation, which would wait for a record that is not in the cache: where two threads are at one page, a count may be
// missed.
using base::raise;

constexpr int one_in = 61;  // a prime, so that what repeats is not met at the same place every time

bool my_turn() noexcept {
  thread_local unsigned calls = 0;
  return ++calls % one_in == 0;
}

thread_local base::nanoseconds measured = 0;  // by the stopwatches of this thread so far

// What lies between two readings of the clock when nothing does.
base::nanoseconds cost_of_reading() noexcept {
  static const base::nanoseconds found = [] {
    base::nanoseconds least = base::second;
    for (int tries = 0; tries < 100; ++tries) {
      const auto at = base::now();
      least = std::min(least, base::now() - at);
    }
    return least;
  }();
  return found;
}

void mark(page_profile::byte_set& into, std::size_t first, std::size_t last) {
  for (std::size_t g = first / page_profile::grain; g <= (last - 1) / page_profile::grain; ++g) into.set(g);
}

}  // namespace

// Measures what counting or looking costs, for as long as it lives, without what stopwatches inside it measure.
class page_profile::stopwatch {
 public:
  stopwatch(std::atomic<base::nanoseconds>& into, int weight) noexcept
      : into_(into), weight_(weight), began_(weight != 0 ? base::now() - measured : 0) {}
  ~stopwatch() {
    if (weight_ == 0) return;
    const auto took = std::min(base::now() - measured - began_, longest);
    measured += took;
    into_.fetch_add(weight_ * std::max<base::nanoseconds>(took - cost_of_reading(), 0), relaxed);
  }
  stopwatch(const stopwatch&) = delete;
  stopwatch& operator=(const stopwatch&) = delete;

 private:
  static constexpr base::nanoseconds longest = 100 * base::microsecond;  // then the thread was not running
  std::atomic<base::nanoseconds>& into_;
  const int weight_;  // 0: it does not measure
  const base::nanoseconds began_;
};

result<std::unique_ptr<page_profile>> page_profile::create(pages& of) {
  auto table = os::reserve(std::size_t{of.count()} * sizeof(record));
  if (!table) return table.failure();
  return std::unique_ptr<page_profile>(new page_profile(of, std::move(*table)));
}

page_profile::record* page_profile::keep(page_id p) {
  record& r = records_[p];
  if (r.kept.load(relaxed)) [[likely]]
    return &r;
  if (full_.load(relaxed)) return nullptr;
  std::scoped_lock lock(lock_);
  if (r.kept.load(relaxed)) return &r;
  if (kept_.size() >= most_pages) return nullptr;
  kept_.push_back(p);
  full_.store(kept_.size() >= most_pages, relaxed);
  r.kept.store(true, relaxed);
  return &r;
}

void page_profile::turn_on(depth d) noexcept {
  on_.store(true, relaxed);
  if (d != depth::bytes || looks_.load(relaxed)) return;
  since_ = base::now();
  looks_.store(true, std::memory_order_release);  // pairs with worth_a_look: since_ is set
}

// The first time, the second, the fourth and so on, up to every 64th, as long as there is time for it.
bool page_profile::worth_a_look(std::uint32_t times) const noexcept {
  constexpr base::nanoseconds at_first = base::millisecond, one_part_in = 400;
  if ((!std::has_single_bit(times) && times % 64 != 0) || !looks_.load(std::memory_order_acquire)) return false;
  return cost_of_looking_.load(relaxed) < at_first + (base::now() - since_) / one_part_in;
}

void page_profile::note_fault(page_id p, bool write) {
  const stopwatch counting(cost_of_counting_, my_turn() ? one_in : 0);
  if (record* r = keep(p)) raise(write ? r->write_faults : r->read_faults);
}

void page_profile::open_cached(extent e) {
  if (on()) [[unlikely]]
    note_fetch(e);
  pages_.open_cached(e);
}

void page_profile::note_fetch(extent e) {
  const stopwatch counting(cost_of_counting_, my_turn() ? one_in : 0);
  for (page_id p = e.first; p < e.last; ++p) {
    record* r = keep(p);
    if (!r) continue;
    r->home.store(false, relaxed);
    raise(r->fetches);
    if (r->to_compare.load(relaxed)) compare(p);
  }
}

// What differs from the copy that was here before was written by others: its own changes the node has seen in that copy.
void page_profile::compare(page_id p) {
  const stopwatch looking(cost_of_looking_, 1);
  std::scoped_lock lock(lock_);
  bytes_seen& seen = seen_.at(p);
  if (!records_[p].to_compare.exchange(false, relaxed)) return;
  const auto* now = reinterpret_cast<const std::uint32_t*>(pages_.frame(p).data());
  const auto* before = reinterpret_cast<const std::uint32_t*>(seen.copy->data());
  for (std::size_t at = 0; at < page_bytes / grain; ++at)
    if (now[at] != before[at]) seen.by_others.set(at);
}

void page_profile::close(extent e) {
  expect(e.first);
  pages_.close(e);
  if (on()) [[unlikely]]
    note_close(e);
}

void page_profile::note_close(extent e) {
  const stopwatch counting(cost_of_counting_, my_turn() ? one_in : 0);
  for (page_id p = e.first; p < e.last; ++p) {
    record& r = records_[p];
    if (!r.looked_at.load(relaxed) || !worth_a_look(r.fetches.load(relaxed))) continue;
    const stopwatch looking(cost_of_looking_, 1);
    std::scoped_lock lock(lock_);
    bytes_seen& seen = seen_.at(p);
    if (!seen.copy) {
      if (copies_ >= most_copies) continue;
      ++copies_;
      seen.copy = std::make_unique<std::array<std::byte, page_bytes>>();
    }
    std::memcpy(seen.copy->data(), pages_.frame(p).data(), page_bytes);
    r.to_compare.store(true, relaxed);
  }
}

void page_profile::note_home(extent e) {
  const stopwatch counting(cost_of_counting_, my_turn() ? one_in : 0);
  for (page_id p = e.first; p < e.last; ++p)
    if (records_[p].kept.load(relaxed)) records_[p].home.store(true, relaxed);
}

// Somebody has a copy: from now on the page matters.
void page_profile::note_copied(extent e) {
  const stopwatch counting(cost_of_counting_, my_turn() ? one_in : 0);
  for (page_id p = e.first; p < e.last; ++p)
    if (record* r = keep(p)) r->home.store(true, relaxed);
}

void page_profile::watch(extent e) {
  expect(e.first);
  pages_.watch(e);
  if (on()) [[unlikely]]
    note_copied(e);
}

bool page_profile::may_be_written(page_id p) {
  if (on()) [[unlikely]]
    note_copied({p, p + 1});
  return pages_.may_be_written(p);
}

void page_profile::open_watched(extent e) {
  if (on()) [[unlikely]]
    note_home(e);
  pages_.open_watched(e);
}

void page_profile::open_free(extent e) {
  if (on()) [[unlikely]]
    note_home(e);
  pages_.open_free(e);
}

void page_profile::take_written(std::vector<page_id>& into) {
  const auto had = into.size();
  pages_.take_written(into);
  if (!on()) [[likely]]
    return;
  const stopwatch counting(cost_of_counting_, my_turn() ? one_in : 0);
  for (std::size_t i = had; i < into.size(); ++i) {
    const bool known = records_[into[i]].kept.load(relaxed);
    record* r = keep(into[i]);
    if (!r) continue;
    if (!known) r->home.store(true, relaxed);  // a copy is known by its coming, unless that was before
    if (r->home.load(relaxed)) raise(r->writes);
  }
}

bool page_profile::take_changes(page_id p, changes& into) {
  const auto had = into.size(), had_bytes = into.bytes_changed();
  expect(p);
  const bool any = pages_.take_changes(p, into);
  if (any && on()) [[unlikely]]
    note_changes(p, into, had, had_bytes);
  return any;
}

void page_profile::note_changes(page_id p, const changes& all, std::size_t had, std::size_t had_bytes) {
  const stopwatch counting(cost_of_counting_, my_turn() ? one_in : 0);
  record* r = keep(p);
  if (!r) return;
  if (!r->home.load(relaxed)) raise(r->writes);  // else it was taken for the home's, and counted
  r->home.store(false, relaxed);
  raise(r->changed_bytes, std::uint64_t{all.bytes_changed() - had_bytes});
  if (!worth_a_look(r->writes.load(relaxed))) return;
  const stopwatch looking(cost_of_looking_, 1);
  std::scoped_lock lock(lock_);
  bytes_seen& seen = seen_[p];
  r->looked_at.store(true, relaxed);
  all.for_ranges(had, [&](std::uint64_t offset, std::size_t size) {
    const std::size_t first = offset % page_bytes;
    mark(seen.written, first, first + size);
  });
}

std::vector<page_profile::use> page_profile::used(std::size_t most) const {
  std::scoped_lock lock(lock_);
  std::vector<std::pair<std::uint64_t, page_id>> order;  // cost and page
  order.reserve(kept_.size());
  for (const page_id p : kept_) order.emplace_back(counts_of(p).cost(), p);
  most = std::min(most, order.size());
  const auto before = [](const auto& a, const auto& b) { return a.first != b.first ? a.first > b.first : a.second < b.second; };
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(most), order.end(), before);
  std::vector<use> all;
  all.reserve(most);
  for (std::size_t i = 0; i < most; ++i) {
    const page_id p = order[i].second;
    all.push_back({counts_of(p), p, {}, {}});
    if (const auto looked_at = seen_.find(p); looked_at != seen_.end())
      all.back().written = looked_at->second.written, all.back().by_others = looked_at->second.by_others;
  }
  return all;
}

page_profile::counts page_profile::counts_of(page_id p) const noexcept {
  const record& r = records_[p];
  return {r.home.load(relaxed),    r.read_faults.load(relaxed), r.write_faults.load(relaxed),
          r.fetches.load(relaxed), r.writes.load(relaxed),      r.changed_bytes.load(relaxed)};
}

std::size_t page_profile::count_used() const {
  std::scoped_lock lock(lock_);
  return kept_.size();
}

}  // namespace weft::dsm
