#include "protocols/hlrc/hlrc.h"

#include <algorithm>
#include <cstring>

#include "dsm/own_handlers.h"

namespace weft::protocols {

using dsm::page_bytes;
using dsm::page_id;

result<std::unique_ptr<hlrc>> hlrc::create(port& p, dsm::pages& memory, dsm::page_table& table, dsm::homes& homes,
                                           const hlrc_settings& settings, const dsm::exchange& with_all) {
  auto copied = dsm::page_set::create(memory.count());
  if (!copied) return copied.failure();
  auto holders = os::reserve(memory.count() * holder_words(p.nodes()) * sizeof(word));
  if (!holders) return holders.failure();
  auto records = os::reserve(memory.count() * sizeof(page_record));
  if (!records) return records.failure();
  auto uses = os::reserve(memory.count() * sizeof(page_use));
  if (!uses) return uses.failure();
  std::unique_ptr<hlrc> h(new hlrc({p, memory, table, homes}, settings,
                                   {std::move(*copied), std::move(*holders), std::move(*records), std::move(*uses)}));
  const auto on = [&](handler_id id, void (hlrc::*serve)(const message&)) {
    p.on(id, [self = h.get(), serve](const message& m) { (self->*serve)(m); });
  };
  on(dsm::page_request, &hlrc::serve_page);
  on(dsm::page_reply, &hlrc::take_page);
  on(dsm::home_changes, &hlrc::serve_changes);
  on(dsm::home_changes_reply, &hlrc::take_changes_reply);
  on(dsm::copy_update, &hlrc::take_update);
  on(dsm::copy_flush, &hlrc::serve_flush);
  on(dsm::copy_flush_reply, &hlrc::take_flush);
  on(dsm::home_request, &hlrc::serve_home);
  on(dsm::home_reply, &hlrc::take_home);
  on(dsm::copy_leave, &hlrc::serve_leave);
  with_all({});  // nobody asks before all can answer
  return h;
}

// --- faults ----------------------------------------------------------------------------------------------------------------------

// A node that is not home any more, to some of them, says so, and where to ask; for that page, not for those that follow.
status hlrc::fetch(node_id home_of_all, dsm::page_row r) {
  if (adapts()) {
    std::scoped_lock lock(copies_lock_);
    for (page_id i = 0; i < r.count; ++i) use(r.at(i)).kept = false;
  }
  std::vector<std::unique_ptr<question>> all;
  for (page_id i = 0; i < r.count; i += most_in_answer)
    all.push_back(std::make_unique<question>(home_of_all, dsm::page_row{r.at(i), std::min(r.count - i, most_in_answer), r.stride}));
  if (auto asked = ask(all); !asked) return asked;
  for (const auto& q : all)
    if (auto whole = fetch_rest(*q); !whole) return whole;
  return {};
}

// What the answer to a question did not bring: from where it has gone to, page by page, or once more if the answer was overtaken.
status hlrc::fetch_rest(const question& first) {
  dsm::page_row r = first.of;
  std::vector<std::unique_ptr<question>> again;
  for (const question* q = &first;; q = again.front().get()) {
    //~ moving_is_overtaken
    const page_id served = q->outdated ? 0 : q->served;
    for (page_id i = 0; i < served; ++i) table_.peek(r.at(i)).home_plus_1 = q->home + 1;
    r = {r.at(served), r.count - served, r.stride};
    if (r.count == 0) return {};
    const node_id home = served != 0 ? first.home : q->outdated ? q->home : q->elsewhere;
    if (home == q->home && served == 0 && !q->outdated)
      if (auto rested = rest(); !rested) return rested;
    again.clear();
    //~ moving_sends_neighbours_along
    again.push_back(std::make_unique<question>(home, home == first.home ? r : dsm::page_row{r.first, 1}));
    if (auto asked = ask(again); !asked) return asked;
  }
}

// Asks all of them at once, and waits for the answers.
status hlrc::ask(std::vector<std::unique_ptr<question>>& all) {
  if (settings_.moving && knows_holders()) {
    std::scoped_lock lock(copies_lock_);
    for (const auto& q : all) questions_.push_back(q.get());
  }
  status fine;
  for (const auto& q : all) {
    const word request[] = {reinterpret_cast<word>(q.get()), q->of.first, q->of.count, q->of.stride};
    if (fine) fine = port_.send(q->home, lane::request, dsm::page_request, request);
  }
  const auto answered = [&] {
    return std::all_of(all.begin(), all.end(), [](const auto& q) { return q->done.load(std::memory_order_acquire); });
  };
  if (fine) fine = dsm::wait_for(port_, answered, "waiting for pages from their home");
  std::scoped_lock lock(copies_lock_);
  for (const auto& q : all) std::erase(questions_, q.get());
  if (!fine)
    for (auto& q : all) (void)q.release();  // answers may still come, in a program that is about to end
  return fine;
}

// At the home, on whichever thread drives.
void hlrc::serve_page(const message& m) {
  if (m.words.size() != 4 || m.words[1] >= pages_.count() || m.words[3] - 1 >= pages_.count()) return;
  dsm::page_row r{static_cast<page_id>(m.words[1]), 0, static_cast<page_id>(m.words[3])};
  if (m.words[2] - 1 >= most_in_answer || r.first + (m.words[2] - 1) * r.stride >= pages_.count()) return;
  r.count = static_cast<page_id>(m.words[2]);
  node_id elsewhere = port_.self();
  bool updated = false;
  {
    std::scoped_lock lock(copies_lock_);
    for (page_id i = 0; settings_.moving && i < r.count; ++i)
      //~ moving_serves_what_has_gone
      if (!at_home(r.at(i), elsewhere)) r.count = i;
    for (page_id i = 0; i < r.count; ++i) {
      const page_id p = r.at(i);
      if (knows_holders()) holders(p)[m.source / 64] |= word{1} << m.source % 64;
      updated = updated || updates(p);
      if (copied_.contains(p)) continue;
      copied_.insert(p);
      //~ hlrc_home_misses_a_first_copy
      newly_copied_.push_back(p);
    }
    //~ auto_never_updates
    if (adapts()) note_fetch(m.source, r);
  }
  const word reply[] = {m.words[0], elsewhere};
  const auto answer = [&](bytes contents) {
    port_.send(m.source, lane::reply, dsm::page_reply, reply, contents).ignore();  // a requester that is gone needs none
  };
  const auto frames = pages_.frames().span();
  //~ hlrc_answers_with_a_neighbour
  if (!updated && r.stride == 1)
    return answer(frames.subspan(std::size_t{r.first} * page_bytes, std::size_t{r.count} * page_bytes));
  base::byte_buffer gathered(std::size_t{r.count} * page_bytes);
  for (page_id i = 0; i < r.count; ++i) {
    std::byte* to = gathered.data() + std::size_t{i} * page_bytes;
    // A copy that will be kept up to date must not hold what the home has not released: if it is changed back, that is no change.
    //~ update_exposes_unreleased_changes
    updated ? pages_.read(r.at(i), to) : void(std::memcpy(to, frames.data() + std::size_t{r.at(i)} * page_bytes, page_bytes));
  }
  answer(gathered);
}

void hlrc::take_page(const message& m) {
  auto* q = reinterpret_cast<question*>(m.words[0]);
  q->served = static_cast<page_id>(std::min<std::size_t>(q->of.count, m.payload.size() / page_bytes));  // none: they are elsewhere
  const dsm::page_row come{q->of.first, q->served, q->of.stride};
  for (page_id i = 0; i < come.runs(); ++i) {
    //~ fetch_ahead_puts_a_row_together
    const dsm::extent run = come.run(i);
    std::memcpy(pages_.frame(run.first).data(), m.payload.data() + std::size_t{i} * page_bytes,
                std::size_t{run.count()} * page_bytes);
  }
  q->elsewhere = static_cast<node_id>(m.words[1]);
  q->done.store(true, std::memory_order_release);  // pairs with the acquire in fetch
}

bool hlrc::shared_by_others(page_id p) {
  std::scoped_lock lock(copies_lock_);
  return copied_.contains(p);
}

// --- release ---------------------------------------------------------------------------------------------------------------------

status hlrc::release() {
  std::scoped_lock lock(gate_);
  const auto timed = working(counter::releases);
  std::vector<written_page> written;
  if (adapts())
    if (auto questioned = question_copies(); !questioned) return questioned;
  watch_copied(written);
  if (auto published = publish(written); !published) return published;
  if (settings_.moving || adapts()) {
    std::scoped_lock guard(copies_lock_);
    for (const auto& [p, home] : written)
      if (home == port_.self()) note_change(p, home, update_cost);
  }
  if (settings_.moving)
    if (auto moved = move_homes(written); !moved) return moved;
  if (adapts()) free_abandoned();
  interval i;
  i.updates = std::exchange(untold_updates_, {});
  //~ update_is_told_with_pages_only
  if (written.empty() && i.updates.empty()) return {};
  for (const auto& [p, home] : written) i.pages.push_back(p);
  std::sort(i.pages.begin(), i.pages.end());
  i.pages.erase(std::unique(i.pages.begin(), i.pages.end()), i.pages.end());
  end_watches(written);
  count(counter::notices_out, i.pages.size());
  std::scoped_lock guard(log_lock_);
  i.number = ++seen_[port_.self()];
  i.late = in_barrier_;
  logged_[port_.self()] += i.size();
  //~ hlrc_forgets_its_interval
  log_[port_.self()].push_back(std::move(i));
  compact(port_.self());
  return {};
}

// Pages of ours that have been copied since the last time. Those that are free need not be watched before it is known whether they are to be: this
// release tells of them, and so of all that is written to them before it is over.
void hlrc::watch_copied(std::vector<written_page>& written) {
  std::vector<page_id> copied;
  {
    std::scoped_lock guard(copies_lock_);
    copied.swap(newly_copied_);
  }
  std::vector<page_id> exactly;
  std::erase_if(copied, [&](page_id p) { return mirrors(p) && (exactly.push_back(p), true); });
  start_mirroring(exactly, written);
  count_free(copied, written);
  start_watching(copied, written);
}

bool hlrc::mirrors(page_id p) {
  std::scoped_lock lock(copies_lock_);
  return updates(p);
}

// Everybody who has a copy will drop it because of this notice, so until the next copy there is nothing to note. To learn how often a page
// changes before it is fetched again, more changes are noted nevertheless, while updates would still have saved something; ever more
// seldom, if in the end they would not.
void hlrc::end_watches(const std::vector<written_page>& written) {
  std::vector<page_id> alone, noted;
  {
    std::scoped_lock guard(copies_lock_);
    for (const auto& [p, home] : written) {
      //~ auto_stops_watching_what_it_updates
      if (home != port_.self() || updates(p)) continue;
      //~ auto_does_not_see_unread_changes
      //~ auto_notes_unread_changes_for_ever
      if (notes_unread_changes(p)) {
        noted.push_back(p);
        continue;
      }
      //~ hlrc_home_remembers_dropped_copies
      copied_.erase(p);
      alone.push_back(p);
    }
  }
  stop_watching(alone);
  std::vector<written_page> told;  // by this release
  //~ auto_frees_what_it_would_note
  start_watching(noted, told);
}

// --- notices ---------------------------------------------------------------------------------------------------------------------

// One interval: node, number, how many pages and whether it was late, how many updates, the pages, of each update its home, holder and
// number; 32 bits each.
void hlrc::write(dsm::notices& into, node_id node, const interval& i) {
  auto append = [&](bytes b) { into.insert(into.end(), b.begin(), b.end()); };
  append(base::bytes_of(node));
  append(base::bytes_of(i.number));
  append(base::bytes_of(static_cast<std::uint32_t>(i.pages.size()) | (i.late ? late_mark : 0)));
  append(base::bytes_of(static_cast<std::uint32_t>(i.updates.size())));
  append(std::as_bytes(std::span(i.pages)));
  append(std::as_bytes(std::span(i.updates)));
}

bool hlrc::read(base::reader& in, node_id& node, interval& i) const {
  node = in.take<node_id>();
  i.number = in.take<std::uint32_t>();
  const auto count = in.take<std::uint32_t>(), pages = count & ~late_mark, updates = in.take<std::uint32_t>();
  const bytes list = in.take_bytes(std::size_t{pages} * sizeof(page_id)),
              sent = in.take_bytes(std::size_t{updates} * sizeof(sent_updates));
  i.late = (count & late_mark) != 0;
  if (!in.ok() || node >= port_.nodes()) return false;
  const auto fill = [](auto& with, std::size_t count, bytes from) {
    with.resize(count);
    if (count != 0) std::memcpy(with.data(), from.data(), from.size());
  };
  fill(i.pages, pages, list);
  fill(i.updates, updates, sent);
  if (std::any_of(i.updates.begin(), i.updates.end(), [&](const sent_updates& u) { return u.home >= port_.nodes(); })) return false;
  return std::all_of(i.pages.begin(), i.pages.end(), [&](page_id p) { return p < pages_.count(); });
}

void hlrc::knowledge(dsm::notices& into) {
  std::scoped_lock lock(log_lock_);
  const auto all = std::as_bytes(std::span(seen_));
  into.insert(into.end(), all.begin(), all.end());
}

void hlrc::notices_for(bytes knowledge, dsm::notices& into) {
  std::vector<std::uint32_t> theirs(port_.nodes());
  if (knowledge.size() != theirs.size() * sizeof theirs[0]) return;
  std::memcpy(theirs.data(), knowledge.data(), knowledge.size());
  std::scoped_lock lock(log_lock_);
  for (node_id n = 0; n < port_.nodes(); ++n)
    for (const auto& i : log_[n])
      //~ hlrc_loses_an_interval
      if (i.number > theirs[n]) write(into, n, i);
}

std::size_t hlrc::unseen(bytes told) {
  std::scoped_lock lock(log_lock_);
  std::size_t sum = 0;
  node_id node;
  interval i;
  for (base::reader in(told); in.left() != 0 && read(in, node, i);)
    if (node != port_.self() && i.number > seen_[node]) sum += i.pages.size();
  return sum;
}

// Every node tells its own intervals. What one ends when it is in the barrier already is told by those who have heard of it, with all
// before that of the same node, so that nobody learns them out of order.
void hlrc::news(dsm::notices& into) {
  std::scoped_lock lock(log_lock_);
  in_barrier_ = true;
  announced_ = told_;
  for (node_id n = 0; n < port_.nodes(); ++n) {
    const auto late = [&](const interval& i) { return i.late && i.number > told_[n]; };
    if (n != port_.self() && std::none_of(log_[n].begin(), log_[n].end(), late)) continue;
    announced_[n] = seen_[n];
    for (const auto& i : log_[n])
      //~ hlrc_tells_a_barrier_the_last_interval_only
      if (i.number > told_[n]) write(into, n, i);
  }
}

// What the last barrier told has been acquired by all, because all have come to this one.
void hlrc::all_told(bytes from_others) {
  std::scoped_lock lock(log_lock_);
  auto upto = announced_;
  base::reader in(from_others);
  node_id node;
  for (interval i; in.left() != 0 && read(in, node, i);) upto[node] = std::max(upto[node], i.number);
  for (node_id n = 0; n < port_.nodes(); ++n) {
    for (auto& l = log_[n]; !l.empty() && l.front().number <= told_[n]; l.pop_front()) logged_[n] -= l.front().size();
    //~ hlrc_forgets_at_once
    told_[n] = std::max(told_[n], upto[n]);
  }
  in_barrier_ = false;
}

// Without barriers the log would grow for ever. Intervals that are merged make some drop pages that they need not have dropped;
// that is the price.
void hlrc::compact(node_id node) {
  auto& l = log_[node];
  if (logged_[node] <= most_logged || l.size() < 2) return;
  interval all{l.back().number, {}, {}};
  for (const auto& i : l) {
    all.pages.insert(all.pages.end(), i.pages.begin(), i.pages.end());
    add_later(i.updates, all.updates);
    all.late = all.late || i.late;
  }
  std::sort(all.pages.begin(), all.pages.end());
  all.pages.erase(std::unique(all.pages.begin(), all.pages.end()), all.pages.end());
  logged_[node] = all.size();
  l.clear();
  l.push_back(std::move(all));
}

// --- acquire ---------------------------------------------------------------------------------------------------------------------

// A node says that it has seen an interval once it has dropped what the interval changed, or has the updates: another thread may ask for
// a lock meanwhile, and would be told nothing of it.
status hlrc::acquire(bytes from_releasers) {
  std::scoped_lock gate_lock(gate_);
  const auto timed = working(counter::acquires);
  std::vector<page_id> changed;
  std::vector<std::pair<node_id, interval>> fresh;
  std::vector<std::uint32_t> upto;
  {
    std::scoped_lock lock(log_lock_);
    upto = seen_;  // of others it changes behind the gate only
  }
  for (base::reader in(from_releasers); in.left() != 0;) {
    node_id node;
    interval i;
    if (!read(in, node, i)) return {errc::invalid_argument, "write notices that make no sense"};
    //~ hlrc_counts_an_interval_before_it_is_known
    if (node == port_.self() || i.number <= upto[node]) continue;
    //~ hlrc_skips_the_invalidation
    changed.insert(changed.end(), i.pages.begin(), i.pages.end());
    upto[node] = i.number;
    fresh.push_back({node, std::move(i)});
  }
  if (fresh.empty()) return {};
  count(counter::notices_in, changed.size());
  std::sort(changed.begin(), changed.end());
  changed.erase(std::unique(changed.begin(), changed.end()), changed.end());
  if (adapts()) forget_kept(changed);
  if (auto dropped = drop(changed); !dropped) return dropped;
  //~ update_is_not_waited_for
  if (auto waited = wait_for_updates(fresh); !waited) return waited;
  std::scoped_lock lock(log_lock_);
  for (auto& [node, i] : fresh) {
    seen_[node] = i.number;
    logged_[node] += i.size();
    //~ hlrc_passes_on_its_own_news_only
    log_[node].push_back(std::move(i));
    compact(node);
  }
  return {};
}

}  // namespace weft::protocols
