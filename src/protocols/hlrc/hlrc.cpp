#include "protocols/hlrc/hlrc.h"

#include <algorithm>
#include <cstring>

#include "dsm/own_handlers.h"

namespace weft::protocols {

using dsm::extent;
using dsm::page_bytes;
using dsm::page_id;

result<std::unique_ptr<hlrc>> hlrc::create(port& p, dsm::pages& memory, dsm::page_table& table, dsm::homes& homes,
                                           const dsm::exchange& with_all) {
  auto copied = dsm::page_set::create(memory.count());
  if (!copied) return copied.failure();
  std::unique_ptr<hlrc> h(new hlrc({p, memory, table, homes}, std::move(*copied)));
  p.on(dsm::page_request, [self = h.get()](const message& m) { self->serve_page(m); });
  p.on(dsm::page_reply, [self = h.get()](const message& m) { self->take_page(m); });
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
      if (copied_.contains(p)) continue;
      copied_.insert(p);
      newly_copied_.push_back(p);
    }
  }
  const auto contents = pages_.frames().span().subspan(std::size_t{e.first} * page_bytes, std::size_t{e.count()} * page_bytes);
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
  std::vector<page_id> copied;
  {
    std::scoped_lock guard(copies_lock_);
    copied.swap(newly_copied_);
  }
  std::vector<written_page> written;
  start_watching(copied, written);
  if (auto published = publish(written); !published) return published;
  if (written.empty()) return {};

  interval i;
  for (const auto& [p, home] : written) i.pages.push_back(p);
  std::sort(i.pages.begin(), i.pages.end());
  i.pages.erase(std::unique(i.pages.begin(), i.pages.end()), i.pages.end());
  // Everybody who has a copy will drop it because of this notice, so until the next copy there is nothing to note.
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
  count(counter::notices_out, i.pages.size());
  std::scoped_lock guard(log_lock_);
  i.number = ++seen_[port_.self()];
  logged_pages_[port_.self()] += i.pages.size();
  log_[port_.self()].push_back(std::move(i));
  compact(port_.self());
  return {};
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

bool hlrc::read(base::reader& in, node_id& node, interval& i) const {
  node = in.take<node_id>();
  i.number = in.take<std::uint32_t>();
  const auto pages = in.take<std::uint32_t>();
  const bytes list = in.take_bytes(std::size_t{pages} * sizeof(page_id));
  if (!in.ok() || node >= port_.nodes()) return false;
  i.pages.resize(pages);
  std::memcpy(i.pages.data(), list.data(), list.size());
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
      if (i.number > theirs[n]) write(into, n, i);
}

void hlrc::news(dsm::notices& into) {
  std::scoped_lock lock(log_lock_);
  for (const auto& i : log_[port_.self()])
    if (i.number > announced_) write(into, port_.self(), i);
  announced_ = seen_[port_.self()];
}

// What the last barrier told has been acquired by all, because all have come to this one.
void hlrc::all_told(bytes from_others) {
  std::vector<std::uint32_t> upto(port_.nodes());
  base::reader in(from_others);
  node_id node;
  for (interval i; in.left() != 0 && read(in, node, i);) upto[node] = std::max(upto[node], i.number);
  std::scoped_lock lock(log_lock_);
  upto[port_.self()] = announced_;
  for (node_id n = 0; n < port_.nodes(); ++n) {
    for (auto& l = log_[n]; !l.empty() && l.front().number <= told_[n]; l.pop_front()) logged_pages_[n] -= l.front().pages.size();
    told_[n] = std::max(told_[n], upto[n]);
  }
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

// A node says that it has seen an interval once it has dropped what the interval changed: another thread may ask for a lock meanwhile,
// and would be told nothing of it.
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
    if (node == port_.self() || i.number <= upto[node]) continue;
    changed.insert(changed.end(), i.pages.begin(), i.pages.end());
    upto[node] = i.number;
    fresh.push_back({node, std::move(i)});
  }
  if (fresh.empty()) return {};
  count(counter::notices_in, changed.size());
  std::sort(changed.begin(), changed.end());
  changed.erase(std::unique(changed.begin(), changed.end()), changed.end());
  if (auto dropped = drop(changed); !dropped) return dropped;
  std::scoped_lock lock(log_lock_);
  for (auto& [node, i] : fresh) {
    seen_[node] = i.number;
    logged_pages_[node] += i.pages.size();
    log_[node].push_back(std::move(i));
    compact(node);
  }
  return {};
}

}  // namespace weft::protocols
