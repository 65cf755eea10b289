#include "dsm/page_profile.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace weft::dsm {

namespace {

void mark(page_profile::byte_set& into, std::size_t first, std::size_t last) {
  for (std::size_t g = first / page_profile::grain; g <= (last - 1) / page_profile::grain; ++g) into.set(g);
}

}  // namespace

page_profile::record* page_profile::find(page_id p) {
  if (const auto known = records_.find(p); known != records_.end()) return &known->second;
  if (records_.size() >= most_pages) return nullptr;
  record& r = records_[p];
  r.counts.page = p;
  return &r;
}

void page_profile::note_fault(page_id p, bool write) {
  std::scoped_lock lock(lock_);
  if (record* r = find(p)) ++(write ? r->counts.write_faults : r->counts.read_faults);
}

// What differs from the copy that was here before was written by others: its own changes the node has seen in that copy.
void page_profile::open_cached(extent e) {
  if (on()) [[unlikely]] {
    std::scoped_lock lock(lock_);
    for (page_id p = e.first; p < e.last; ++p) {
      record* r = find(p);
      if (!r) continue;
      r->counts.home = false;
      ++r->counts.fetches;
      if (!r->seen || r->seen->compared) continue;
      r->seen->compared = true;
      const auto now = pages_.frame(p);
      for (std::size_t at = 0; at < page_bytes; at += grain)
        if (std::memcmp(now.data() + at, r->seen->copy->data() + at, grain) != 0) r->seen->by_others.set(at / grain);
    }
  }
  pages_.open_cached(e);
}

void page_profile::close(extent e) {
  pages_.close(e);
  if (!on()) [[likely]]
    return;
  std::scoped_lock lock(lock_);
  for (page_id p = e.first; p < e.last; ++p) {
    const auto known = records_.find(p);
    if (known == records_.end() || !known->second.seen || !worth_a_look(known->second.counts.fetches)) continue;
    auto& seen = *known->second.seen;
    if (!seen.copy) {
      if (copies_ >= most_copies) continue;
      ++copies_;
      seen.copy = std::make_unique<std::array<std::byte, page_bytes>>();
    }
    std::memcpy(seen.copy->data(), pages_.frame(p).data(), page_bytes);
    seen.compared = false;
  }
}

void page_profile::note_home(extent e) {
  std::scoped_lock lock(lock_);
  for (page_id p = e.first; p < e.last; ++p)
    if (const auto known = records_.find(p); known != records_.end()) known->second.counts.home = true;
}

// Somebody has a copy: from now on the page matters.
void page_profile::watch(extent e) {
  pages_.watch(e);
  if (!on()) [[likely]]
    return;
  std::scoped_lock lock(lock_);
  for (page_id p = e.first; p < e.last; ++p)
    if (record* r = find(p)) r->counts.home = true;
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
  std::scoped_lock lock(lock_);
  for (std::size_t i = had; i < into.size(); ++i) {
    const bool known = records_.count(into[i]) != 0;
    record* r = find(into[i]);
    if (!r) continue;
    if (!known) r->counts.home = true;  // a copy is known by its coming, unless that was before
    if (r->counts.home) ++r->counts.writes;
  }
}

bool page_profile::take_changes(page_id p, changes& into) {
  const auto had_runs = into.runs().size(), had_bytes = into.bytes_changed();
  const bool any = pages_.take_changes(p, into);
  if (!any || !on()) [[likely]]
    return any;
  std::scoped_lock lock(lock_);
  record* r = find(p);
  if (!r) return any;
  if (!std::exchange(r->counts.home, false)) ++r->counts.writes;  // else it was taken for the home's, and counted
  r->counts.changed_bytes += into.bytes_changed() - had_bytes;
  if (!worth_a_look(r->counts.writes)) return any;
  if (!r->seen) r->seen = std::make_unique<bytes_seen>();
  for (const run& each : into.runs().subspan(had_runs)) {
    const std::size_t first = each.offset % page_bytes;
    mark(r->seen->written, first, first + each.data.size());
  }
  return any;
}

std::vector<page_profile::use> page_profile::used(std::size_t most) const {
  std::scoped_lock lock(lock_);
  std::vector<const record*> order;
  order.reserve(records_.size());
  for (const auto& [page, r] : records_) order.push_back(&r);
  most = std::min(most, order.size());
  const auto before = [](const record* a, const record* b) {
    return a->counts.cost() != b->counts.cost() ? a->counts.cost() > b->counts.cost() : a->counts.page < b->counts.page;
  };
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(most), order.end(), before);
  std::vector<use> all;
  for (std::size_t i = 0; i < most; ++i) {
    all.push_back(order[i]->counts);
    if (order[i]->seen) all.back().written = order[i]->seen->written, all.back().by_others = order[i]->seen->by_others;
  }
  return all;
}

std::size_t page_profile::count_used() const {
  std::scoped_lock lock(lock_);
  return records_.size();
}

}  // namespace weft::dsm
