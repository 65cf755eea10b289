#include "protocols/hlrc/hlrc.h"

#include <algorithm>
#include <cstring>

#include "base/bytes.h"
#include "dsm/own_handlers.h"
#include "protocols/hlrc/run_list.h"

namespace weft::protocols {

using dsm::extent;
using dsm::page_bytes;
using dsm::page_id;

result<std::unique_ptr<hlrc>> hlrc::create(port& p, dsm::pages& memory, dsm::page_table& table, dsm::homes& homes,
                                           const hlrc_settings& settings, const dsm::exchange& with_all) {
  auto copied = dsm::page_set::create(memory.count());
  if (!copied) return copied.failure();
  auto holders = os::reserve(memory.count() * holder_words(p.nodes()) * sizeof(word));
  if (!holders) return holders.failure();
  std::unique_ptr<hlrc> h(new hlrc({p, memory, table, homes}, settings, std::move(*copied), std::move(*holders)));
  const auto on = [&](handler_id id, void (hlrc::*serve)(const message&)) {
    p.on(id, [self = h.get(), serve](const message& m) { (self->*serve)(m); });
  };
  on(dsm::page_request, &hlrc::serve_page);
  on(dsm::page_reply, &hlrc::take_page);
  on(dsm::home_changes, &hlrc::serve_changes);
  on(dsm::home_changes_reply, &hlrc::take_changes_reply);
  on(dsm::copy_update, &hlrc::take_update);
  on(dsm::copy_update_reply, &hlrc::take_update_reply);
  with_all({});  // nobody asks before all can answer
  return h;
}

// --- faults ----------------------------------------------------------------------------------------------------------------------

status hlrc::fetch(node_id home, extent e) {
  const auto offset = std::uint64_t{e.first} * page_bytes;
  auto q = std::make_unique<question>();
  q->into = pages_.frames().span().subspan(offset, std::size_t{e.count()} * page_bytes);
  const word request[] = {reinterpret_cast<word>(q.get()), e.first, e.last};
  if (auto sent = port_.send(home, lane::request, dsm::page_request, request); !sent) return sent;
  auto waited = dsm::wait_for(
      port_, [&] { return q->done.load(std::memory_order_acquire); }, "waiting for a page from its home");
  if (!waited) (void)q.release();  // the answer may still come, in a program that is about to end
  return waited;
}

// At the home, on whichever thread drives.
void hlrc::serve_page(const message& m) {
  if (m.words.size() != 3) return;
  const extent e{static_cast<page_id>(m.words[1]), static_cast<page_id>(m.words[2])};
  if (e.last > pages_.count() || e.first >= e.last || e.count() * page_bytes > most_payload) return;
  {
    std::scoped_lock lock(copies_lock_);
    for (page_id p = e.first; p < e.last; ++p) {
      if (settings_.update) holders(p)[m.source / 64] |= word{1} << m.source % 64;
      if (copied_.contains(p)) continue;
      copied_.insert(p);
      newly_copied_.push_back(p);
    }
  }
  mutable_bytes contents = pages_.frames().span().subspan(std::size_t{e.first} * page_bytes, std::size_t{e.count()} * page_bytes);
  // A copy that will be kept up to date must not hold what the home has not released: if it is changed back, that is no change.
  base::byte_buffer released;
  if (settings_.update) {
    released.resize(contents.size());
    for (page_id p = e.first; p < e.last; ++p) pages_.read(p, released.data() + std::size_t{p - e.first} * page_bytes);
    contents = released;
  }
  port_.send(m.source, lane::reply, dsm::page_reply, m.words.first(1), contents).ignore();  // a requester that is gone needs none
}

void hlrc::take_page(const message& m) {
  auto* q = reinterpret_cast<question*>(m.words[0]);
  std::memcpy(q->into.data(), m.payload.data(), std::min(m.payload.size(), q->into.size()));
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
  watch_copied(written);
  if (auto published = publish(written); !published) return published;
  if (written.empty()) return {};

  interval i;
  for (const auto& [p, home] : written) i.pages.push_back(p);
  std::sort(i.pages.begin(), i.pages.end());
  i.pages.erase(std::unique(i.pages.begin(), i.pages.end()), i.pages.end());
  if (!settings_.update) end_watches(written);
  count(counter::notices_out, i.pages.size());
  std::scoped_lock guard(log_lock_);
  i.number = ++seen_[port_.self()];
  logged_pages_[port_.self()] += i.pages.size();
  log_[port_.self()].push_back(std::move(i));
  compact(port_.self());
  return {};
}

// Pages of ours that have been copied since the last time.
void hlrc::watch_copied(std::vector<written_page>& written) {
  std::vector<page_id> copied;
  {
    std::scoped_lock guard(copies_lock_);
    copied.swap(newly_copied_);
  }
  settings_.update ? start_mirroring(copied, written) : start_watching(copied, written);
}

// Everybody who has a copy will drop it because of this notice, so until the next copy there is nothing to note.
void hlrc::end_watches(const std::vector<written_page>& written) {
  std::vector<page_id> alone;
  {
    std::scoped_lock guard(copies_lock_);
    for (const auto& [p, home] : written) {
      if (home != port_.self()) continue;
      copied_.erase(p);
      alone.push_back(p);
    }
  }
  stop_watching(alone);
}

// --- changes ---------------------------------------------------------------------------------------------------------------------

status hlrc::deliver(std::span<const dsm::changes> by_home, std::vector<written_page>& changed) {
  if (settings_.by_put) return home_based::deliver(by_home, changed);
  auto d = std::make_unique<delivery>();
  for (node_id home = 0; home < port_.nodes(); ++home) {
    if (by_home[home].empty()) continue;
    if (auto sent = send_home(home, by_home[home], *d); !sent) return (void)d.release(), sent.clone();
  }
  auto waited = dsm::wait_for(
      port_, [&] { return d->complete(); }, "waiting for changes to arrive at their homes");
  if (!waited) return (void)d.release(), waited.clone();  // replies may still come, in a program that is about to end
  std::sort(d->untold.begin(), d->untold.end());
  std::erase_if(changed, [&](const written_page& w) { return !std::binary_search(d->untold.begin(), d->untold.end(), w.page); });
  return {};
}

status hlrc::send_home(node_id home, const dsm::changes& c, delivery& d) {
  const word token = reinterpret_cast<word>(&d);
  auto runs = c.runs();
  while (!runs.empty()) {
    run_list some;
    while (!runs.empty() && some.add(runs.front())) runs = runs.subspan(1);
    d.sent.fetch_add(1, std::memory_order_relaxed);  // read by this thread
    if (auto sent = port_.send(home, lane::request, dsm::home_changes, std::span(&token, 1), some.payload()); !sent) return sent;
  }
  return {};
}

// At the home, on whichever thread drives. Its own changes come this way too, for the order's sake: among handlers, a page is read and
// sent, or changed and its changes sent, one after another.
void hlrc::serve_changes(const message& m) {
  std::vector<run> runs;
  if (m.words.size() != 1 || !run_list::read(m.payload, pages_.count(), runs)) return;
  if (m.source != port_.self())
    run_list::for_pages(runs, [&](page_id p, std::span<const run> of_page) { pages_.update(p, of_page); });
  std::vector<page_id> untold;
  const word reply[] = {m.words[0], forward(m.source, m.words[0], runs, untold)};
  port_.send(m.source, lane::reply, dsm::home_changes_reply, reply, std::as_bytes(std::span(untold))).ignore();
}

void hlrc::take_changes_reply(const message& m) {
  auto* d = reinterpret_cast<delivery*>(m.words[0]);
  const std::size_t had = d->untold.size();
  d->untold.resize(had + m.payload.size() / sizeof(page_id));
  std::memcpy(d->untold.data() + had, m.payload.data(), m.payload.size());
  d->holders.fetch_add(static_cast<std::uint32_t>(m.words[1]), std::memory_order_relaxed);  // ordered by the release that follows
  d->replies.fetch_add(1, std::memory_order_release);                                       // pairs with complete()
}

// Sends what `writer` has changed in pages whose home is here on to all others who have copies; how many messages that were. Pages
// whose holders get nothing, and so have to be told by notices, are appended to `untold`.
std::uint32_t hlrc::forward(node_id writer, word token, std::span<const run> runs, std::vector<page_id>& untold) {
  std::uint32_t sent = 0;
  std::vector<run_list> to(settings_.update ? port_.nodes() : 0);
  const auto flush = [&](node_id holder) {
    const word words[] = {token, writer};
    port_.send(holder, lane::reply, dsm::copy_update, words, to[holder].payload()).ignore();  // who is gone breaks the job
    to[holder] = {};
    ++sent;
  };
  std::vector<word> who(holder_words(port_.nodes()));
  run_list::for_pages(runs, [&](page_id p, std::span<const run> of_page) {
    if (!settings_.update) return untold.push_back(p);
    {
      std::scoped_lock lock(copies_lock_);
      std::copy_n(holders(p).begin(), who.size(), who.begin());
    }
    for (node_id n = 0; n < port_.nodes(); ++n) {
      if (n == writer || !(who[n / 64] >> n % 64 & 1)) continue;
      for (const run& r : of_page)
        if (!to[n].add(r)) {
          flush(n);
          to[n].add(r);
        }
    }
  });
  for (node_id n = 0; n < to.size(); ++n)
    if (!to[n].empty()) flush(n);
  return sent;
}

// At a holder. A copy that has been dropped meanwhile is not hurt: it is fetched whole before it is used again.
void hlrc::take_update(const message& m) {
  std::vector<run> runs;
  if (m.words.size() != 2 || m.words[1] >= port_.nodes() || !run_list::read(m.payload, pages_.count(), runs)) return;
  run_list::for_pages(runs, [&](page_id p, std::span<const run> of_page) { pages_.update(p, of_page); });
  port_.send(static_cast<node_id>(m.words[1]), lane::reply, dsm::copy_update_reply, m.words.first(1)).ignore();
}

void hlrc::take_update_reply(const message& m) {
  reinterpret_cast<delivery*>(m.words[0])->holder_replies.fetch_add(1, std::memory_order_release);  // pairs with complete()
}

// --- notices ---------------------------------------------------------------------------------------------------------------------

// One interval: node, number, how many pages, the pages; 32 bits each.
void hlrc::write(dsm::notices& into, node_id node, const interval& i) {
  auto append = [&](bytes b) { into.insert(into.end(), b.begin(), b.end()); };
  append(base::bytes_of(node));
  append(base::bytes_of(i.number));
  append(base::bytes_of(static_cast<std::uint32_t>(i.pages.size())));
  append(std::as_bytes(std::span(i.pages)));
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
      if (i.number > theirs[n]) write(into, n, i);
}

void hlrc::news(dsm::notices& into) {
  std::scoped_lock lock(log_lock_);
  for (const auto& i : log_[port_.self()]) write(into, port_.self(), i);
}

void hlrc::all_know() {
  std::scoped_lock lock(log_lock_);
  for (auto& l : log_) l.clear();
  std::fill(logged_pages_.begin(), logged_pages_.end(), 0);
}

// Without barriers the log would grow for ever. Intervals that are merged make some drop pages that they need not have dropped;
// that is the price.
void hlrc::compact(node_id node) {
  auto& l = log_[node];
  if (logged_pages_[node] <= most_pages_logged || l.size() < 2) return;
  interval all{l.back().number, {}};
  for (const auto& i : l) all.pages.insert(all.pages.end(), i.pages.begin(), i.pages.end());
  std::sort(all.pages.begin(), all.pages.end());
  all.pages.erase(std::unique(all.pages.begin(), all.pages.end()), all.pages.end());
  logged_pages_[node] = all.pages.size();
  l.clear();
  l.push_back(std::move(all));
}

// --- acquire ---------------------------------------------------------------------------------------------------------------------

status hlrc::acquire(bytes from_releasers) {
  std::scoped_lock gate_lock(gate_);
  const auto timed = working(counter::acquires);
  std::vector<page_id> changed;
  base::reader in(from_releasers);
  while (in.left() != 0) {
    const auto node = in.take<std::uint32_t>(), number = in.take<std::uint32_t>(), pages = in.take<std::uint32_t>();
    const bytes list = in.take_bytes(std::size_t{pages} * sizeof(page_id));
    if (!in.ok() || node >= port_.nodes()) return {errc::invalid_argument, "write notices that make no sense"};
    std::scoped_lock lock(log_lock_);
    if (node == port_.self() || number <= seen_[node]) continue;
    interval i{number, std::vector<page_id>(pages)};
    std::memcpy(i.pages.data(), list.data(), list.size());
    changed.insert(changed.end(), i.pages.begin(), i.pages.end());
    seen_[node] = number;
    logged_pages_[node] += pages;
    log_[node].push_back(std::move(i));
    compact(node);
  }
  if (changed.empty()) return {};
  count(counter::notices_in, changed.size());
  std::sort(changed.begin(), changed.end());
  changed.erase(std::unique(changed.begin(), changed.end()), changed.end());
  if (!changed.empty() && changed.back() >= pages_.count())
    return {errc::invalid_argument, "write notices of pages that do not exist"};
  return drop(changed);
}

}  // namespace weft::protocols
