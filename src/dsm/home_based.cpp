#include "dsm/home_based.h"

#include <algorithm>

namespace weft::dsm {

protocol_statistics home_based::statistics() const {
  auto sum = [&](counter c) { return counters_.sum(static_cast<std::size_t>(c)); };
  return {.read_faults = sum(counter::read_faults),
          .write_faults = sum(counter::write_faults),
          .fetches = sum(counter::fetches),
          .fetched_pages = sum(counter::fetched_pages),
          .changed_pages = sum(counter::changed_pages),
          .changed_bytes = sum(counter::changed_bytes),
          .changed_runs = sum(counter::changed_runs),
          .notices_out = sum(counter::notices_out),
          .notices_in = sum(counter::notices_in),
          .invalidated = sum(counter::invalidated),
          .releases = sum(counter::releases),
          .acquires = sum(counter::acquires)};
}

// --- faults ----------------------------------------------------------------------------------------------------------------------

status home_based::fault(page_id p, bool write) {
  count(write ? counter::write_faults : counter::read_faults);
  page_table::hold e(table_, p);
  if (e->now != view::closed) {
    pages_.reopen(p);
  } else {
    const auto home = homes_.find(*e, p);
    if (!home) return home.failure();
    if (auto opened = *home == port_.self() ? open_home(*e, p) : open_copy(p, *home); !opened) return opened;
  }
  if (write && e->now != view::free) pages_.first_write(p);
  return {};
}

// The view shows the master copy itself. Copies that others have are known from the start; those they make later are told.
status home_based::open_home(page_table::entry& e, page_id p) {
  if (shared_by_others(p)) {
    pages_.open_watched({p, p + 1});
    table_.show(p, view::watched);
    return {};
  }
  // Neighbours that are ours as well will most likely be used next.
  page_id last = p + 1;
  if (e.settled)
    for (; last < pages_.count() && last - p < most_ahead && table_.try_take(last); ++last) {
      page_table::entry& n = table_.peek(last);
      if (n.now == view::closed && n.settled && n.home_plus_1 == port_.self() + 1 && !shared_by_others(last)) continue;
      table_.give(last);
      break;
    }
  pages_.open_free({p, last});
  table_.show(p, view::free);
  for (page_id n = p + 1; n < last; ++n) {
    table_.show(n, view::free);
    table_.give(n);
  }
  return {};
}

status home_based::open_copy(page_id p, node_id home) {
  const extent all = claim_ahead(p, home);
  status fetched = timed_fetch(home, all);
  if (fetched) {
    count(counter::fetches);
    count(counter::fetched_pages, all.count());
    pages_.open_cached(all);
    table_.show(p, view::cached);
  }
  for (page_id n = p + 1; n < all.last; ++n) {
    if (fetched) table_.show(n, view::cached);
    table_.give(n);
  }
  return fetched;
}

status home_based::timed_fetch(node_id home, extent e) {
  const base::during fetching(port_.activity(), base::phase::fetch);
  if (auto* a = port_.activity()) a->fetched(home, std::uint64_t{e.count()} * page_bytes);
  return fetch(home, e);
}

// A row of faults is met with longer and longer fetches: the neighbours of one home that are closed as well.
extent home_based::claim_ahead(page_id p, node_id home) {
  const page_id want = expected_.load(std::memory_order_relaxed) == p
                           ? std::min<page_id>(ahead_.load(std::memory_order_relaxed) * 2, most_ahead)
                           : 1;
  extent all{p, p + 1};
  while (all.count() < want && all.last < pages_.count() && table_.try_take(all.last)) {
    page_table::entry& n = table_.peek(all.last);
    if (n.now != view::closed || !n.settled || n.home_plus_1 != home + 1) {
      table_.give(all.last);
      break;
    }
    ++all.last;
  }
  expected_.store(all.last, std::memory_order_relaxed);
  ahead_.store(want, std::memory_order_relaxed);
  return all;
}

// --- release ---------------------------------------------------------------------------------------------------------------------

bool home_based::start_watching(page_id p) {
  page_table::hold e(table_, p);
  if (e->now != view::free) return false;
  pages_.watch(p);
  table_.show(p, view::watched);
  return true;
}

void home_based::stop_watching(page_id p) {
  page_table::hold e(table_, p);
  if (e->now != view::watched) return;
  pages_.open_free({p, p + 1});
  table_.show(p, view::free);
}

status home_based::publish(std::vector<written_page>& into) {
  std::vector<page_id> written;
  pages_.take_written(written);
  for (page_id p : written) {
    page_table::hold e(table_, p);
    if (e->now == view::watched) into.push_back({p, port_.self()});
    if (e->now != view::cached) continue;
    const node_id home = e->home_plus_1 - 1;
    if (!pages_.take_changes(p, outgoing_[home])) continue;
    count(counter::changed_pages);
    into.push_back({p, home});
  }
  if (auto sent = send_changes(); !sent) return sent;
  into.insert(into.end(), unreleased_.begin(), unreleased_.end());
  unreleased_.clear();
  return {};
}

status home_based::send_changes() {
  for (node_id home = 0; home < port_.nodes(); ++home) {
    changes& c = outgoing_[home];
    if (c.empty()) continue;
    count(counter::changed_bytes, c.bytes_changed());
    count(counter::changed_runs, c.runs().size());
    if (auto* a = port_.activity()) a->changed(home, c.bytes_changed());
    if (auto put = port_.put_runs(home, homes_.frames(home), c.runs()); !put) return put;
  }
  for (node_id home = 0; home < port_.nodes(); ++home) {
    if (outgoing_[home].empty()) continue;
    outgoing_[home].clear();
    if (auto fenced = port_.fence(home); !fenced) return fenced;
  }
  return {};
}

// --- acquire ---------------------------------------------------------------------------------------------------------------------

status home_based::drop(const std::vector<page_id>& list) {
  for (std::size_t i = 0; i < list.size();) {
    std::size_t end = i + 1;
    while (end < list.size() && list[end] == list[end - 1] + 1) ++end;
    if (auto dropped = drop_run({list[i], list[end - 1] + 1}); !dropped) return dropped;
    i = end;
  }
  return {};
}

// Closed first, compared then: another thread may be writing to the page. Its next write faults, and waits for the entry.
status home_based::drop_run(extent e) {
  for (page_id p = e.first; p < e.last;) {
    std::vector<std::unique_ptr<page_table::hold>> held;
    while (p + held.size() < e.last) {
      auto h = std::make_unique<page_table::hold>(table_, p + static_cast<page_id>(held.size()));
      if ((*h)->now != view::cached) break;
      held.push_back(std::move(h));
    }
    const extent run{p, p + static_cast<page_id>(held.size())};
    p = run.last + 1;  // past the one that was no copy
    if (held.empty()) continue;
    pages_.close(run);
    count(counter::invalidated, run.count());
    for (page_id q = run.first; q < run.last; ++q) {
      page_table::entry& n = **held[q - run.first];
      const node_id home = n.home_plus_1 - 1;
      table_.show(q, view::closed);
      if (pages_.take_changes(q, outgoing_[home])) {
        count(counter::changed_pages);
        unreleased_.push_back({q, home});
      }
      if (auto left = leave(home, q); !left) return left;
    }
    // Before the entries are let go: whoever fetches the page again must find in it what it wrote itself.
    if (auto sent = send_changes(); !sent) return sent;
  }
  return {};
}

// --- the end of initialisation ---------------------------------------------------------------------------------------------------

status home_based::end_initialisation() {
  std::scoped_lock lock(gate_);
  homes_.by_first_touch();
  std::vector<page_id> copies;
  for (page_id p = table_.next_open(0); p < pages_.count(); p = table_.next_open(p + 1)) {
    page_table::hold e(table_, p);
    if (e->settled) continue;
    if (e->now == view::cached) copies.push_back(p);
    if (e->now != view::watched && e->now != view::free) continue;
    pages_.close({p, p + 1});
    table_.show(p, view::closed);
  }
  return drop(copies);
}

}  // namespace weft::dsm
