// Choosing page by page: what the home learns from who changes and who fetches, and what a holder learns about its use of a copy.
//
// The home adds up what the fetches of a page have cost since it changed before, and takes off what it would have cost to update all who
// have had copies. If that has saved each enough over the last changes, copies are updated from now on. A page that is fetched alone costs a
// round trip; one of a long row that is fetched together costs less than an update, which has to find the changes first. To know of changes
// that nobody fetches costs the home something too; where these have used up what would have been saved, it looks ever more seldom.
//
// The holder. Updates are wasted on a copy that is not used. After some updates the page is closed, with its contents kept up to date; if it
// is used, the fault opens it again without a fetch, and it is left alone for four times as long. If twice as many updates come again and it is
// still closed, the holder leaves: it tells the home that it has no copy. Twice: a page that is used after every second change may be looked
// at when the change has come that it is about to be used for. A copy that a notice has had dropped, before the page came to be updated, is
// waited for in the same way.
#include <algorithm>
#include <bit>

#include "dsm/own_handlers.h"
#include "protocols/hlrc/hlrc.h"

namespace weft::protocols {

using dsm::page_id;

// --- the home --------------------------------------------------------------------------------------------------------------------

// Pages, or none, are sent to `by`. Requests that continue one another make a row, and what they cost is shared by all pages of it: those that
// were asked for alone, to find out that there is a row, cost no more than the others. The home may release before the row goes on: what a
// page cost that was asked for alone is reckoned in full when the next request does not continue it. With copies_lock_.
void hlrc::note_fetch(node_id by, dsm::page_row r) {
  if (r.count == 0) return;
  const auto change = [&](page_id p, unsigned less, unsigned more) {
    auto& fetched = record(p).fetched;
    fetched = static_cast<std::uint16_t>(std::min(std::max(unsigned{fetched}, less) - less + more, 65535u));
  };
  fetched_row& row = rows_[by];
  //~ auto_begins_a_row_with_every_request
  if (!row.continued_by(r)) {
    if (row.of.count == 1) change(row.of.first, 0, row.rest_of_one());
    row = {{r.first, 0, r.stride}, 0};
  }
  const unsigned before = row.cost_of_each();
  const page_id had = row.of.count;
  if (had <= 1) row.of.stride = r.stride;
  row.of.count += r.count;
  row.cost += port_.disturbs() ? request_cost : idle_request_cost;
  const unsigned now = row.cost_of_each();
  if (row.of.count <= most_shared)
    //~ auto_sees_no_rows
    for (page_id i = 0; i < had; ++i) change(row.of.at(i), before, now);
  for (page_id i = 0; i < r.count; ++i) change(r.at(i), 0, now);
}

// Changes of a page came from `writer`, and to update one holder costs so much; whether it should be the page's home. With copies_lock_.
bool hlrc::note_change(page_id p, node_id writer, unsigned cost) {
  page_record& r = record(p);
  const auto w = static_cast<std::uint16_t>(writer + 1);
  if (adapts() && !r.update) {
    unsigned others = 0;
    for (word h : holders(p)) others += static_cast<unsigned>(std::popcount(h));
    if (holders(p)[writer / 64] >> writer % 64 & 1) --others;
    //~ auto_adds_up_what_all_save
    const unsigned read = std::exchange(r.fetched, std::uint16_t{0}) / std::max(others, 1u);
    const unsigned saved = r.saving - r.saving / counts_for + read;
    if (read == 0 && r.saving != 0 && saved <= cost) {
      r.in_vain = std::min<std::uint8_t>(r.in_vain + 1, most_in_vain);
      r.to_skip = static_cast<std::uint8_t>((1u << r.in_vain) - 1);
    }
    r.saving = static_cast<std::uint8_t>(std::min(saved > cost ? saved - cost : 0, most_saved));
    //~ auto_always_updates
    r.update = r.saving >= enough_saved << r.abandoned;
    if (r.update) {
      r.in_vain = r.to_skip = 0;
      //~ auto_does_not_mirror
      newly_copied_.push_back(p);  // the home's own changes are to be known exactly from its next release on
    }
  }
  r.in_a_row = r.writer_plus_1 == w ? static_cast<std::uint8_t>(r.in_a_row + 1) : 1;
  r.writer_plus_1 = w;
  if (!settings_.moving || writer == port_.self() || r.in_a_row < (r.update ? updates_in_a_row : changes_in_a_row)) return false;
  r.in_a_row = 0;
  return true;
}

// Whether it is worth knowing if a page that nobody has a copy of changes. With copies_lock_.
bool hlrc::notes_unread_changes(page_id p) {
  if (!adapts()) return false;
  page_record& r = record(p);
  //~ auto_follows_all_unread_changes
  if (r.to_skip != 0) --r.to_skip, r.saving = 0;
  return r.saving != 0;
}

// Behind the gate: pages that were changed when nobody had a copy. If that is still so, their home need not know its changes.
void hlrc::free_abandoned() {
  std::vector<page_id> alone;
  {
    std::scoped_lock lock(copies_lock_);
    for (page_id p : std::exchange(abandoned_, {})) {
      //~ auto_frees_what_others_hold
      if (std::any_of(holders(p).begin(), holders(p).end(), [](word w) { return w != 0; })) continue;
      page_record& r = record(p);
      //~ auto_forgets_that_copies_are_dropped
      r.update = false;
      r.fetched = r.saving = 0;
      //~ auto_forgets_its_mistakes
      r.abandoned = std::min<std::uint8_t>(r.abandoned + 1, most_abandoned);
      copied_.erase(p);
      alone.push_back(p);
    }
  }
  stop_watching(alone);
}

void hlrc::serve_leave(const message& m) {
  if (m.words.size() != 1 || m.words[0] >= pages_.count()) return;
  std::scoped_lock lock(copies_lock_);
  //~ auto_ignores_who_leaves
  holders(static_cast<page_id>(m.words[0]))[m.source / 64] &= ~(word{1} << m.source % 64);
}

// --- a holder --------------------------------------------------------------------------------------------------------------------

// With copies_lock_.
void hlrc::note_update(const dsm::patch& changed, node_id home) {
  page_use& u = use(changed.page());
  const unsigned cost = u.updates + cost_of(changed), patience = std::max(u.patience, least_patience);
  u.updates = static_cast<std::uint16_t>(cost);
  if (cost < (u.kept ? 2 * patience : patience)) return;
  u.updates = 0;
  //~ auto_never_doubts
  doubtful_.push_back({changed.page(), home});
}

bool hlrc::still_good(page_id p) {
  if (!adapts()) return false;
  std::scoped_lock lock(copies_lock_);
  page_use& u = use(p);
  //~ auto_trusts_any_copy
  if (!u.kept) return false;
  u = {0, static_cast<std::uint16_t>(std::min<unsigned>(std::max(u.patience, least_patience) * 4u, most_patience)), false};
  return true;
}

void hlrc::forget_kept(std::span<const page_id> list) {
  std::scoped_lock lock(copies_lock_);
  //~ auto_opens_a_stale_copy
  for (page_id p : list) use(p).kept = false;
}

// Of a page that is updated in vain because its copy had been dropped: whether it may be fetched yet.
bool hlrc::waits_longer(page_id p) {
  std::scoped_lock lock(copies_lock_);
  page_use& u = use(p);
  if (u.kept || u.patience > least_patience) return false;
  u.patience = 2 * least_patience;
  return true;
}

// Behind the gate. Copies that have been updated for a while are closed, or, if they were closed already, given up.
status hlrc::question_copies() {
  std::vector<doubtful_page> list;
  {
    std::scoped_lock lock(copies_lock_);
    list.swap(doubtful_);
  }
  std::vector<page_id> open;
  for (const doubtful_page& d : list) {
    dsm::page_table::hold e(table_, d.page);
    //~ auto_leaves_with_a_copy
    if (e->now == dsm::view::cached && e->settled) open.push_back(d.page);
    if (e->now == dsm::view::closed && !waits_longer(d.page))
      if (auto left = leave_copy(d); !left) return left;
  }
  std::sort(open.begin(), open.end());
  open.erase(std::unique(open.begin(), open.end()), open.end());
  if (auto dropped = drop(open); !dropped) return dropped;
  for (page_id p : open) {
    dsm::page_table::hold e(table_, p);
    std::scoped_lock lock(copies_lock_);
    use(p).kept = e->now == dsm::view::closed;
  }
  return {};
}

// With the page's entry: who fetches it again does so after this message, on the same lane.
status hlrc::leave_copy(const doubtful_page& d) {
  //~ auto_trusts_what_it_left
  forget_kept(std::span(&d.page, 1));
  const word p = d.page;
  return port_.send(d.home, lane::request, dsm::copy_leave, std::span(&p, 1));
}

}  // namespace weft::protocols
