#include "dsm/home_based.h"

#include <algorithm>

namespace weft::dsm {

// --- faults ----------------------------------------------------------------------------------------------------------------------

status home_based::fault(page_id p, bool write) {
  count(write ? counter::write_faults : counter::read_faults);
  const homes::fault_under_way under_way(homes_);
  if (auto began = under_way.began(); !began) return began;
  page_table::hold e(table_, p);
  if (e->now != view::closed) {
    pages_.reopen(p);
  } else if (still_good(p)) {
    open_kept(p);
  } else {
    const auto home = homes_.find(*e, p);
    if (!home) return home.failure();
    if (auto opened = *home == port_.self() ? open_home(*e, p) : open_copy(p, *home); !opened) return opened;
  }
  if (!write || e->now == view::free) return {};
  if (auto told = will_write(e->home_plus_1 - 1, p); !told) return told;
  pages_.first_write(p);
  return {};
}

// The view shows the master copy itself. Copies that others have are known from the start; those they make later are told.
status home_based::open_home(page_table::entry& e, page_id p) {
  //~ home_opens_a_shared_page_unwatched
  if (shared_by_others(p)) {
    const bool exactly = mirrors(p);
    exactly ? pages_.open_cached({p, p + 1}) : pages_.open_watched({p, p + 1});
    table_.show(p, exactly ? view::mirrored : view::watched);
    return {};
  }
  // Neighbours that are ours as well will most likely be used next.
  homes::neighbours around(homes_);
  const auto ours = [&](page_id next) {
    page_table::entry& n = table_.peek(next);
    //~ home_opens_a_shared_neighbour_unwatched
    //~ home_opens_a_neighbour_of_another
    return n.now == view::closed && around.settled(n, next) && n.home_plus_1 == port_.self() + 1 && !shared_by_others(next);
  };
  //~ home_opens_one_page
  const extent all{p, e.settled ? take_followers(p, ours) : p + 1};
  pages_.open_free(all);
  show_opened(all, view::free);
  return {};
}

// Copies that were closed to see whether they are used. One that is stands for the neighbours that were closed with it: a fault for each would
// cost more than to be wrong about some until the next look.
void home_based::open_kept(page_id p) {
  //~ holder_opens_a_neighbour_that_was_dropped
  //~ holder_opens_one_page
  const extent all{p, take_followers(p, [&](page_id next) { return table_.peek(next).now == view::closed && still_good(next); })};
  pages_.open_cached(all);
  show_opened(all, view::cached);
}

// Takes the entries of the pages behind one for as long as they belong, and no more than a fault may open.
template <typename Belongs>
page_id home_based::take_followers(page_id p, Belongs&& belongs) {
  page_id last = p + 1;
  for (; last < pages_.count() && last - p < pages_.most_at_once() && table_.try_take(last); ++last) {
    if (belongs(last)) continue;
    table_.give(last);
    break;
  }
  return last;
}

// They are let go, but for the first.
void home_based::show_opened(extent all, view how) {
  table_.show(all.first, how);
  for (page_id n = all.first + 1; n < all.last; ++n) {
    table_.show(n, how);
    table_.give(n);
  }
}

status home_based::open_copy(page_id p, node_id home) {
  const page_row all = claim_ahead(p, home);
  const auto fetched = [&] {
    const std::uint64_t size = std::uint64_t{all.count} * page_bytes;
    const observe::during fetching(port_.activity(), observe::phase::fetch);
    const observe::span traced(port_.activity(), observe::trace_kind::fetch, p, home, size);
    if (auto* a = port_.activity()) a->fetched(home, size);
    return fetch(home, all);
  }();
  if (fetched) {
    count(counter::fetches);
    count(counter::fetched_pages, all.count);
    //~ fetch_ahead_by_stride_opens_neighbours
    //~ fetch_ahead_opens_one
    for (page_id i = 0; i < all.runs(); ++i) pages_.open_cached(all.run(i));
    table_.show(p, view::cached);
  }
  for (page_id i = 1; i < all.count; ++i) {
    if (fetched) table_.show(all.at(i), view::cached);
    //~ fetch_ahead_keeps_entries
    table_.give(all.at(i));
  }
  return fetched.clone();
}

// What is expected to be needed, of pages of one home that are closed as well.
page_row home_based::claim_ahead(page_id p, node_id home) {
  const page_id most = pages_.most_at_once();
  page_row all = rows_.expect(p, most == 1 ? 1 : most * answers_at_once(), fetches_apart());
  const page_id want = std::exchange(all.count, 1);
  homes::neighbours around(homes_);
  for (; all.count < want; ++all.count) {
    const std::uint64_t next = std::uint64_t{p} + std::uint64_t{all.count} * all.stride;
    if (next >= pages_.count() || !table_.try_take(static_cast<page_id>(next))) break;
    page_table::entry& n = table_.peek(static_cast<page_id>(next));
    //~ fetch_ahead_overwrites
    //~ fetch_ahead_takes_another_homes_page
    if (n.now == view::closed && around.settled(n, static_cast<page_id>(next)) && n.home_plus_1 == home + 1) continue;
    table_.give(static_cast<page_id>(next));
    break;
  }
  rows_.fetched(all.count);
  return all;
}

// --- release ---------------------------------------------------------------------------------------------------------------------

// Holds the pages of an ordered list that belong, run by run of neighbours, and does something to each run.
template <typename Belongs, typename Do>
void home_based::for_runs(const std::vector<page_id>& list, Belongs&& belongs, Do&& each) {
  for (std::size_t i = 0; i < list.size();) {
    extent run{list[i], list[i]};
    bool more = true;
    while (more) {
      table_.take(run.last);
      more = belongs(table_.peek(run.last));
      if (more) {
        ++run.last;
        ++i;
        more = i < list.size() && list[i] == run.last;
      } else {
        table_.give(run.last);
        ++i;
      }
    }
    if (run.count() == 0) continue;
    each(run);
    for (page_id p = run.first; p < run.last; ++p) table_.give(p);
  }
}

namespace {

void order(std::vector<page_id>& list) {
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
}

}  // namespace

void home_based::count_free(std::vector<page_id>& list, std::vector<written_page>& into) {
  std::erase_if(list, [&](page_id p) {
    page_table::hold e(table_, p);
    //~ hlrc_tells_nothing_of_free_pages
    if (e->now != view::free || !pages_.may_be_written(p)) return false;
    into.push_back({p, port_.self()});
    return true;
  });
}

void home_based::start_watching(std::vector<page_id>& list, std::vector<written_page>& into) {
  order(list);
  for_runs(
      list, [](const page_table::entry& e) { return e.now == view::free; },
      [&](extent run) {
        pages_.watch(run);
        for (page_id p = run.first; p < run.last; ++p) {
          //~ home_writes_before_the_watch_are_lost
          table_.show(p, view::watched);
          if (pages_.may_be_written(p)) into.push_back({p, port_.self()});
        }
      });
}

void home_based::start_mirroring(std::vector<page_id>& list, std::vector<written_page>& into) {
  order(list);
  for_runs(
      list, [](const page_table::entry& e) { return e.now == view::free || e.now == view::watched; },
      [&](extent run) {
        pages_.mirror(run);
        for (page_id p = run.first; p < run.last; ++p) {
          //~ home_changes_before_the_mirror_are_lost
          table_.show(p, view::mirrored);
          into.push_back({p, port_.self()});
        }
      });
}

void home_based::stop_watching(std::vector<page_id>& list) {
  order(list);
  for_runs(
      list, [](const page_table::entry& e) { return e.now == view::watched || e.now == view::mirrored; },
      [&](extent run) {
        set_free(run);
        pages_.open_free(run);
        for (page_id p = run.first; p < run.last; ++p) table_.show(p, view::free);
      });
}

status home_based::publish(std::vector<written_page>& into) {
  std::vector<page_id> written;
  std::vector<written_page> changed;
  pages_.take_written(written);
  for (page_id p : written) {
    page_table::hold e(table_, p);
    //~ home_writes_are_not_told
    if (e->now == view::watched) into.push_back({p, port_.self()});
    if (e->now != view::cached && e->now != view::mirrored) continue;
    const node_id home = e->home_plus_1 - 1;
    if (!pages_.take_changes(p, outgoing_[home])) continue;
    count(counter::changed_pages);
    changed.push_back({p, home});
  }
  if (auto sent = send_changes(changed); !sent) return sent;
  into.insert(into.end(), changed.begin(), changed.end());
  into.insert(into.end(), unreleased_.begin(), unreleased_.end());
  unreleased_.clear();
  return {};
}

status home_based::send_changes(std::vector<written_page>& changed) {
  if (changed.empty()) return {};
  for (node_id home = 0; home < port_.nodes(); ++home) {
    const changes& c = outgoing_[home];
    if (c.empty()) continue;
    count(counter::changed_bytes, c.bytes_changed());
    count(counter::changed_runs, c.ranges_changed());
    if (auto* a = port_.activity()) a->changed(home, c.bytes_changed());
  }
  auto delivered = deliver(outgoing_, changed);
  for (changes& c : outgoing_) c.clear();
  return delivered;
}

status home_based::deliver(std::span<const changes> by_home, std::vector<written_page>&) {
  for (node_id home = 0; home < port_.nodes(); ++home) {
    if (by_home[home].empty()) continue;
    if (auto put = port_.put_runs(home, homes_.frames(home), by_home[home].runs()); !put) return put;
  }
  for (node_id home = 0; home < port_.nodes(); ++home) {
    if (by_home[home].empty()) continue;
    //~ release_does_not_wait
    if (auto fenced = port_.fence(home); !fenced) return fenced;
  }
  return {};
}

// --- acquire ---------------------------------------------------------------------------------------------------------------------

// Closed first, compared then: another thread may be writing to the page. Its next write faults, and waits for the entry.
status home_based::drop(const std::vector<page_id>& list) {
  status all;
  for_runs(
      list, [](const page_table::entry& e) { return e.now == view::cached; },
      [&](extent run) {
        if (all) all = drop_run(run);
      });
  return all;
}

status home_based::drop_run(extent run) {
  //~ dropped_page_stays_in_the_view
  pages_.close(run);
  count(counter::invalidated, run.count());
  std::vector<written_page> changed;
  for (page_id p = run.first; p < run.last; ++p) {
    const node_id home = table_.peek(p).home_plus_1 - 1;
    table_.show(p, view::closed);
    if (pages_.take_changes(p, outgoing_[home])) {
      count(counter::changed_pages);
      changed.push_back({p, home});
    }
    if (auto left = leave(home, p); !left) return left;
  }
  // Before the entries are let go: whoever fetches the page again must find in it what it wrote itself.
  //~ drop_keeps_changes_back
  auto sent = send_changes(changed);
  //~ drop_forgets_to_tell
  unreleased_.insert(unreleased_.end(), changed.begin(), changed.end());
  return sent;
}

// --- the end of initialisation ---------------------------------------------------------------------------------------------------

status home_based::end_initialisation() {
  if (auto waited = homes_.about_to_move(); !waited) return waited;
  std::scoped_lock lock(gate_);
  std::vector<page_id> copies;
  for (page_id p = table_.next_open(0); p < pages_.count(); p = table_.next_open(p + 1)) {
    page_table::hold e(table_, p);
    if (e->settled) continue;
    //~ initialisation_keeps_copies
    if (e->now == view::cached) copies.push_back(p);
    if (e->now != view::watched && e->now != view::free && e->now != view::mirrored) continue;
    //~ old_home_keeps_writing
    pages_.close({p, p + 1});
    table_.show(p, view::closed);
  }
  return drop(copies);
}

}  // namespace weft::dsm
