#include "protocols/lrc/history.h"

#include <algorithm>
#include <cstring>

#include "base/bytes.h"

namespace weft::protocols {

using dsm::page_id;

namespace {

template <typename T>
void append(std::vector<std::byte>& into, const T& value) {
  const auto b = base::bytes_of(value);
  into.insert(into.end(), b.begin(), b.end());
}

void append_bytes(std::vector<std::byte>& into, bytes b) {
  into.insert(into.end(), b.begin(), b.end());
}

}  // namespace

// --- diffs as bytes --------------------------------------------------------------------------------------------------------------

std::vector<std::byte> encode(page_id p, std::span<const run> runs) {
  std::vector<std::byte> all;
  for (const auto& r : runs) {
    append(all, static_cast<std::uint16_t>(r.offset - std::uint64_t{p} * dsm::page_bytes));
    append(all, static_cast<std::uint16_t>(r.data.size()));
    append_bytes(all, r.data);
  }
  return all;
}

namespace {

void put_into(mutable_bytes page, bytes runs) {
  base::reader in(runs);
  while (in.left() != 0) {
    const auto offset = in.take<std::uint16_t>(), size = in.take<std::uint16_t>();
    const bytes data = in.take_bytes(size);
    if (!in.ok() || std::size_t{offset} + size > page.size()) return;
    std::memcpy(page.data() + offset, data.data(), size);
  }
}

}  // namespace

// The diffs of one writer come in the order in which they were made.
void apply_in_order(std::vector<diff>& diffs, mutable_bytes page) {
  const auto place = [](const diff& d) { return d.stamp - 1; };
  //~ lrc_applies_the_latest_first
  //~ lrc_applies_by_writer
  std::stable_sort(diffs.begin(), diffs.end(), [&](const diff& a, const diff& b) { return place(a) < place(b); });
  for (const auto& d : diffs) put_into(page, d.runs);
}

void write(std::vector<std::byte>& into, const diff& d) {
  append(into, d.first);
  append(into, d.last);
  append(into, d.stamp);
  append(into, static_cast<std::uint32_t>(d.runs.size()));
  append_bytes(into, d.runs);
}

bool read(bytes from, std::vector<diff>& into) {
  base::reader in(from);
  while (in.left() != 0) {
    diff d;
    d.first = in.take<interval_number>();
    d.last = in.take<interval_number>();
    d.stamp = in.take<std::uint32_t>();
    const bytes runs = in.take_block();
    if (!in.ok()) return false;
    d.runs.assign(runs.begin(), runs.end());
    into.push_back(std::move(d));
  }
  return true;
}

// --- intervals -------------------------------------------------------------------------------------------------------------------

history::history(node_id self, node_id nodes, page_id pages, dsm::page_set missing)
    : self_(self),
      nodes_(nodes),
      count_(pages),
      seen_(nodes),
      logged_(nodes),
      cut_(nodes),
      log_(nodes),
      missing_(std::move(missing)) {}

history::page& history::at(page_id p) {
  const auto [found, made] = pages_.try_emplace(p);
  if (made) grow(page_overhead);
  return found->second;
}

const history::page* history::look(page_id p) const {
  const auto found = pages_.find(p);
  return found == pages_.end() ? nullptr : &found->second;
}

void history::log(node_id node, interval i) {
  grow(size_of(i));
  clock_ = std::max(clock_, i.stamp);
  logged_[node] = i.number;
  log_[node].push_back(std::move(i));
}

std::size_t history::end_interval(std::vector<page_id> written, bool late) {
  const interval_number number = own() + 1;
  const std::uint32_t stamp = clock_ + 1;
  for (page_id p : written)
    if (page& of = at(p); of.untaken == 0) of.untaken = number, of.stamp = stamp;
  for (page_id p : unreleased_) {
    page& of = at(p);
    of.unreleased = false;
    for (auto& d : of.own)
      if (d.stamp == 0) d.stamp = stamp;
    written.push_back(p);
  }
  unreleased_.clear();
  if (written.empty()) return 0;
  std::sort(written.begin(), written.end());
  written.erase(std::unique(written.begin(), written.end()), written.end());
  const std::size_t told = written.size();
  //~ lrc_forgets_its_interval
  log(self_, {number, stamp, late, std::move(written)});
  seen_[self_] = number;
  return told;
}

// Node, number, stamp, how many pages and whether it was late, the pages; 32 bits each.
void history::append_interval(const interval& i, node_id of, dsm::notices& into) {
  append(into, of);
  append(into, i.number);
  append(into, i.stamp);
  append(into, static_cast<std::uint32_t>(i.pages.size()) | (i.late ? late_mark : 0));
  append_bytes(into, std::as_bytes(std::span(i.pages)));
}

bool history::late_beyond(node_id node, interval_number known) const {
  const auto& l = log_[node];
  return std::any_of(l.begin(), l.end(), [&](const interval& i) { return i.late && i.number > known; });
}

void history::notices_beyond(const vector_time& known, dsm::notices& into) const {
  for (node_id n = 0; n < nodes_; ++n) {
    const auto& l = log_[n];
    //~ lrc_loses_an_interval
    auto i = std::upper_bound(l.begin(), l.end(), known[n], [](interval_number k, const interval& x) { return k < x.number; });
    for (; i != l.end(); ++i) append_interval(*i, n, into);
  }
}

void history::own_beyond(interval_number known, interval_number last, dsm::notices& into) const {
  for (const auto& i : log_[self_]) {
    if (i.number <= known || i.number > last) continue;
    append_interval(i, self_, into);
  }
}

bool history::learn(bytes notices, std::vector<page_id>& changed, vector_time& upto) {
  upto = seen_;
  base::reader in(notices);
  while (in.left() != 0) {
    const auto node = in.take<node_id>();
    const auto number = in.take<interval_number>();
    const auto stamp = in.take<std::uint32_t>(), count = in.take<std::uint32_t>(), pages = count & ~late_mark;
    const bytes list = in.take_bytes(std::size_t{pages} * sizeof(page_id));
    if (!in.ok() || node >= nodes_) return false;
    if (node == self_ || number <= seen_[node]) continue;
    upto[node] = std::max(upto[node], number);
    interval i{number, stamp, (count & late_mark) != 0, std::vector<page_id>(pages)};
    std::memcpy(i.pages.data(), list.data(), list.size());
    for (page_id p : i.pages) {
      if (p >= count_) return false;
      note(p, node, number);
      //~ lrc_skips_the_invalidation
      changed.push_back(p);  // also where the copy has it already: what is written here from now on is later, and in another diff
    }
    if (number > logged_[node]) log(node, std::move(i));
  }
  return true;
}

namespace {

// Calls visit(node, number, pages) for each interval that notices tell of, up to one that makes no sense.
template <typename Visit>
void for_intervals(bytes notices, node_id nodes, std::uint32_t late_mark, Visit&& visit) {
  base::reader in(notices);
  while (in.left() != 0) {
    const auto node = in.take<node_id>();
    const auto number = in.take<interval_number>();
    in.take<std::uint32_t>();  // stamp
    const std::size_t pages = in.take<std::uint32_t>() & ~late_mark;
    in.take_bytes(pages * sizeof(page_id));
    if (!in.ok() || node >= nodes) return;
    visit(node, number, pages);
  }
}

}  // namespace

void history::raise(vector_time& upto, bytes notices) {
  for_intervals(notices, static_cast<node_id>(upto.size()), late_mark,
                [&](node_id node, interval_number number, std::size_t) { upto[node] = std::max(upto[node], number); });
}

std::size_t history::unseen(bytes notices) const {
  std::size_t sum = 0;
  for_intervals(notices, nodes_, late_mark, [&](node_id node, interval_number number, std::size_t pages) {
    if (node != self_ && number > seen_[node]) sum += pages;
  });
  return sum;
}

void history::saw(const vector_time& upto) {
  for (node_id n = 0; n < nodes_; ++n)
    if (n != self_) seen_[n] = std::max(seen_[n], upto[n]);
}

// --- pages -----------------------------------------------------------------------------------------------------------------------

history::writer* history::find_writer(page& of, node_id node) {
  for (auto& w : of.writers)
    if (w.node == node) return &w;
  return nullptr;
}

// Whoever has not been noted yet has nothing in the page up to the interval before.
history::writer& history::writer_of(page& of, node_id node, interval_number first) {
  if (writer* w = find_writer(of, node)) return *w;
  grow(sizeof(writer));
  return of.writers.emplace_back(writer{node, first - 1, 0});
}

// Intervals of a node are learnt in order, so those between the last one that had the page and this one do not have it.
void history::note(page_id p, node_id node, interval_number number) {
  page& of = at(p);
  writer& w = writer_of(of, node, number);
  if (w.known <= w.applied) w.applied = std::max(w.applied, number - 1);
  w.known = std::max(w.known, number);
}

history::need history::needs(page_id p) const {
  need n{epoch_, missing_.contains(p), false, {}};
  const page* of = look(p);
  if (!of) return n;
  n.reapply = of->reapply.has_value();
  for (const auto& w : of->writers)
    if (w.known > w.applied) n.parts.push_back({w.node, w.applied, w.known});
  return n;
}

bool history::fetched(page_id p, const need& asked, const vector_time& has) {
  if (epoch_ != asked.epoch) return false;
  page& of = at(p);
  missing_.erase(p);
  //~ lrc_loses_its_own_changes
  of.reapply = std::max(has[self_], cut_[self_]);
  for (node_id n = 0; n < nodes_; ++n)
    if (n != self_ && (has[n] > cut_[n] || find_writer(of, n))) writer_of(of, n, 1).applied = std::max(has[n], cut_[n]);
  return true;
}

bool history::received(page_id p, const need& asked, const std::vector<std::vector<diff>>& come, std::vector<diff>& own) {
  if (asked.epoch != epoch_) return false;
  page& of = at(p);
  for (std::size_t i = 0; i < asked.parts.size(); ++i) {
    auto& applied = writer_of(of, asked.parts[i].writer, 1).applied;
    applied = std::max(applied, asked.parts[i].upto);
    //~ lrc_applies_a_diff_twice
    for (const auto& d : come[i]) applied = std::max(applied, d.last);
  }
  if (of.reapply)
    for (const auto& d : of.own)
      if (d.last > *of.reapply) own.push_back(d);
  of.reapply.reset();
  return true;
}

vector_time history::has(page_id p) const {
  vector_time all = cut_;
  all[self_] = own();
  const page* of = look(p);
  if (!of) return all;
  for (const auto& w : of->writers) all[w.node] = std::max(all[w.node], w.applied);
  //~ lrc_gives_a_page_for_more_than_it_is
  if (of->untaken != 0) all[self_] = of->untaken - 1;
  return all;
}

// --- this node's own diffs -------------------------------------------------------------------------------------------------------

void history::add_own(page& to, diff d) {
  grow(size_of(d));
  to.own.push_back(std::move(d));
}

// What cannot be told apart, changes of intervals that have ended and of the one that has not, is told again with that one.
void history::closed(page_id p, bool changed, std::vector<std::byte> runs) {
  page& of = at(p);
  if (changed && !of.unreleased) {
    of.unreleased = true;
    //~ lrc_forgets_what_it_closed
    unreleased_.push_back(p);
  }
  if (of.untaken != 0)
    taken(p, own(), std::move(runs));
  else if (changed)
    add_own(of, {own() + 1, own() + 1, 0, std::move(runs)});
}

bool history::untaken(page_id p, interval_number upto) const {
  const page* of = look(p);
  return of && of->untaken != 0 && of->untaken <= upto;
}

// An interval that ended meanwhile may have changes that were not taken.
void history::taken(page_id p, interval_number ended, std::vector<std::byte> runs) {
  page& of = at(p);
  if (of.untaken == 0) return;
  add_own(of, {of.untaken, ended, of.stamp, std::move(runs)});
  of.untaken = 0;
  for (const auto& i : log_[self_])
    if (i.number == ended + 1) of.untaken = i.number, of.stamp = i.stamp;
}

std::vector<page_id> history::all_untaken(interval_number upto) const {
  std::vector<page_id> all;
  for (const auto& [p, of] : pages_)
    if (untaken(p, upto)) all.push_back(p);
  std::sort(all.begin(), all.end());
  return all;
}

history::answer history::diffs(page_id p, interval_number after, interval_number upto, std::size_t skip,
                               std::vector<std::byte>& into) const {
  if (after < cut_[self_]) return answer::collected;
  const page* of = look(p);
  if (!of) return answer::all;
  for (const auto& d : of->own) {
    if (d.last <= after || d.first > upto) continue;
    if (skip > 0) {
      --skip;
      continue;
    }
    if (into.size() > most_at_once) return answer::more;
    write(into, d);
  }
  return answer::all;
}

// --- collection ------------------------------------------------------------------------------------------------------------------

void history::diffs_for(node_id manager_node, interval_number upto, std::vector<std::byte>& into) const {
  for (const auto& [p, of] : pages_) {
    if (manager(p) != manager_node) continue;
    std::vector<std::byte> some;
    for (const auto& d : of.own)
      if (d.first <= upto) write(some, d);
    if (some.empty()) continue;
    append(into, p);
    append(into, static_cast<std::uint32_t>(some.size()));
    append_bytes(into, some);
  }
}

void history::keep_missing(page_id p, node_id node, std::vector<diff>& diffs) {
  auto& applied = writer_of(at(p), node, 1).applied;
  std::erase_if(diffs, [&](const diff& d) { return d.last <= applied; });
  for (const auto& d : diffs) applied = std::max(applied, d.last);
}

void history::forget_page(page_id p, page& of, const vector_time& cut) {
  bool lacks = of.reapply.has_value();
  for (const auto& w : of.writers) lacks |= w.known > w.applied && w.applied < cut[w.node];
  //~ lrc_gives_up_nothing
  if (lacks && manager(p) != self_) missing_.insert(p);
  if (missing_.contains(p)) of.reapply.reset();
  for (auto& w : of.writers) w.applied = std::max(w.applied, cut[w.node]);
  memory_ -=
      sizeof(writer) * std::erase_if(of.writers, [&](const writer& w) { return std::max(w.applied, w.known) <= cut[w.node]; });
  for (const auto& d : of.own)
    if (d.first <= cut[self_]) memory_ -= size_of(d);
  //~ lrc_drops_diffs_beyond_the_cut
  std::erase_if(of.own, [&](const diff& d) { return d.first <= cut[self_]; });
}

void history::forget(const vector_time& cut) {
  ++epoch_;
  cut_ = cut;
  for (node_id n = 0; n < nodes_; ++n)
    for (auto& l = log_[n]; !l.empty() && l.front().number <= cut[n]; l.pop_front()) memory_ -= size_of(l.front());
  for (auto i = pages_.begin(); i != pages_.end();) {
    page& of = i->second;
    forget_page(i->first, of, cut);
    const bool nothing = of.writers.empty() && of.own.empty() && of.untaken == 0 && !of.unreleased && !of.reapply;
    if (nothing) memory_ -= page_overhead;
    i = nothing ? pages_.erase(i) : std::next(i);
  }
}

}  // namespace weft::protocols
