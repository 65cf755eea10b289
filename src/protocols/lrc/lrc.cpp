#include "protocols/lrc/lrc.h"

#include <algorithm>
#include <cstring>

#include "base/bytes.h"
#include "dsm/own_handlers.h"
#include "dsm/parcels.h"

namespace weft::protocols {

using dsm::page_bytes;
using dsm::page_id;
using dsm::view;

lrc::lrc(port& p, dsm::pages& memory, dsm::page_table& table, std::size_t bound, dsm::page_set missing)
    : port_(p),
      pages_(memory),
      table_(table),
      bound_(bound),
      gate_(p),
      history_(p.self(), p.nodes(), memory.count(), std::move(missing)) {
  collecting_.parcels.resize(p.nodes());
}

result<std::unique_ptr<lrc>> lrc::create(port& p, dsm::pages& memory, dsm::page_table& table, std::size_t bound, first_copy first,
                                         const dsm::exchange& with_all) {
  auto missing = dsm::page_set::create(memory.count());
  if (!missing) return missing.failure();
  if (first == first_copy::fetched)
    for (page_id page = 0; page < memory.count(); ++page)
      if (history::manager(page, p.nodes()) != p.self()) missing->insert(page);
  std::unique_ptr<lrc> l(new lrc(p, memory, table, bound, std::move(*missing)));
  p.on(dsm::page_request, [self = l.get()](const message& m) { self->serve_page(m); });
  p.on(dsm::page_reply, [self = l.get()](const message& m) { self->take_answer(m); });
  p.on(dsm::diff_request, [self = l.get()](const message& m) { self->serve_diffs(m); });
  p.on(dsm::diff_reply, [self = l.get()](const message& m) { self->take_answer(m); });
  p.on(dsm::collection, [self = l.get()](const message& m) { self->take_step(m); });
  with_all({});  // nobody asks before all can answer
  return l;
}

dsm::protocol_statistics lrc::statistics() const {
  auto s = counters_.statistics();
  std::scoped_lock guard(lock_);
  s.collections = history_.epoch();
  s.most_memory = history_.most_memory();
  return s;
}

// --- faults ----------------------------------------------------------------------------------------------------------------------

status lrc::fault(page_id p, bool write) {
  count(write ? counter::write_faults : counter::read_faults);
  hold e(*this, p);
  if (e->now != view::closed) {
    pages_.reopen(p);
  } else {
    if (auto brought = bring_up_to_date(p); !brought) return brought;
    pages_.open_cached({p, p + 1});
    table_.show(p, view::cached);
  }
  if (write) pages_.first_write(p);
  return {};
}

// A notice that comes meanwhile closes the page again: whoever brings it waits for the entry. A collection that comes meanwhile makes
// us begin anew.
status lrc::bring_up_to_date(page_id p) {
  const observe::during fetching(port_.activity(), observe::phase::fetch);
  const observe::span traced(port_.activity(), observe::trace_kind::fetch, p);
  while (true) {
    history::need needed;
    {
      std::scoped_lock guard(lock_);
      needed = history_.needs(p);
    }
    if (!needed.missing && !needed.reapply && needed.parts.empty()) return {};
    if (auto fetched = needed.missing ? fetch_page(p, needed) : fetch_diffs(p, needed); !fetched) return fetched;
  }
}

status lrc::wait_for_answers(std::vector<std::unique_ptr<question>>& asked, const char* what) {
  auto waited = dsm::wait_for(
      port_,
      [&] {
        // Acquire pairs with the release in take_answer.
        return std::all_of(asked.begin(), asked.end(), [](const auto& q) { return q->done.load(std::memory_order_acquire); });
      },
      what);
  if (!waited)
    for (auto& q : asked) (void)q.release();  // the answer may still come, in a program that is about to end
  return waited;
}

status lrc::fetch_page(page_id p, const history::need& needed) {
  const node_id manager = history_.manager(p);
  std::vector<std::unique_ptr<question>> asked;
  asked.push_back(std::make_unique<question>());
  const word request[] = {reinterpret_cast<word>(asked[0].get()), p};
  if (auto sent = port_.send(manager, lane::request, dsm::page_request, request); !sent) return sent;
  if (auto waited = wait_for_answers(asked, "waiting for a page from its manager"); !waited) return waited;
  base::reader in(asked[0]->answer);
  vector_time has(port_.nodes());
  for (auto& number : has) number = in.take<interval_number>();
  const bytes contents = in.take_bytes(page_bytes);
  if (!in.ok()) return {errc::invalid_argument, "a page that makes no sense"};
  {
    std::scoped_lock guard(lock_);
    if (!history_.fetched(p, needed, has)) return {};
  }
  std::memcpy(pages_.frame(p).data(), contents.data(), page_bytes);
  count(counter::fetches);
  count(counter::fetched_pages);
  if (auto* a = port_.activity()) a->fetched(manager, page_bytes);
  return {};
}

// From every writer, in answers of a limited size.
result<bool> lrc::ask_for_diffs(page_id p, const history::need& needed, std::vector<std::vector<diff>>& come) {
  std::vector<std::size_t> unanswered;
  for (std::size_t i = 0; i < needed.parts.size(); ++i) unanswered.push_back(i);
  while (!unanswered.empty()) {
    std::vector<std::unique_ptr<question>> asked;
    for (std::size_t i : unanswered) {
      const auto& part = needed.parts[i];
      asked.push_back(std::make_unique<question>());
      const word request[] = {reinterpret_cast<word>(asked.back().get()), p, part.after, part.upto, come[i].size()};
      if (auto sent = port_.send(part.writer, lane::request, dsm::diff_request, request); !sent) return sent;
    }
    if (auto waited = wait_for_answers(asked, "waiting for diffs from their writers"); !waited) return waited;
    std::vector<std::size_t> rest;
    for (std::size_t k = 0; k < asked.size(); ++k) {
      const std::size_t i = unanswered[k];
      if (asked[k]->found == history::answer::collected) return false;
      if (asked[k]->found == history::answer::more) rest.push_back(i);
      if (!read(asked[k]->answer, come[i])) return status(errc::invalid_argument, "diffs that make no sense");
      if (auto* a = port_.activity()) a->fetched(needed.parts[i].writer, asked[k]->answer.size());
    }
    unanswered = std::move(rest);
  }
  return true;
}

status lrc::fetch_diffs(page_id p, const history::need& needed) {
  std::vector<std::vector<diff>> come(needed.parts.size());
  const auto there = ask_for_diffs(p, needed, come);
  if (!there) return there.failure();
  // A writer that has forgotten has been told so by node 0, which tells us as well: nothing else has to happen before.
  const auto told = [&] {
    std::scoped_lock guard(lock_);
    return history_.epoch() != needed.epoch;
  };
  if (!*there) return dsm::wait_for(port_, told, "waiting for the end of a collection");
  std::vector<diff> all;
  {
    std::scoped_lock guard(lock_);
    if (!history_.received(p, needed, come, all)) return {};
  }
  for (auto& c : come) std::move(c.begin(), c.end(), std::back_inserter(all));
  apply_in_order(all, pages_.frame(p));
  count(counter::fetches);
  count(counter::fetched_pages);
  return {};
}

void lrc::take_answer(const message& m) {
  auto* q = reinterpret_cast<question*>(m.words[0]);
  if (!dsm::take_piece(m, q->answer)) return;
  q->found = static_cast<history::answer>(m.words[1]);
  q->done.store(true, std::memory_order_release);  // pairs with the acquire in wait_for_answers
}

// --- this node's own changes -----------------------------------------------------------------------------------------------------

std::vector<std::byte> lrc::changes_of(page_id p, bool& changed) {
  std::unique_ptr<dsm::changes> room;
  {
    std::scoped_lock guard(lock_);
    if (!spare_.empty()) {
      room = std::move(spare_.back());
      spare_.pop_back();
    }
  }
  if (!room) room = std::make_unique<dsm::changes>();
  changed = pages_.take_changes(p, *room);
  auto runs = encode(p, room->runs());
  if (changed) {
    count(counter::changed_pages);
    count(counter::changed_bytes, room->bytes_changed());
    count(counter::changed_runs, room->runs().size());
  }
  room->clear();
  std::scoped_lock guard(lock_);
  spare_.push_back(std::move(room));
  return runs;
}

// Behind the gate: a release finds what was written and lets it be noted anew, which may open a page that is closed meanwhile. Closed
// first, compared then: another thread may be writing to the page. Its next write faults, and waits for the entry.
void lrc::close(page_id p) {
  if (table_.peek(p).now != view::cached) return;
  pages_.close({p, p + 1});
  table_.show(p, view::closed);
  count(counter::invalidated);
  bool changed = false;
  auto runs = changes_of(p, changed);
  std::scoped_lock guard(lock_);
  //~ lrc_closes_without_a_diff
  history_.closed(p, changed, std::move(runs));
}

void lrc::take_diff(page_id p) {
  interval_number ended;
  {
    std::scoped_lock guard(lock_);
    ended = history_.own();
    if (!history_.untaken(p, ended)) return;
  }
  bool changed = false;
  auto runs = changes_of(p, changed);
  std::scoped_lock guard(lock_);
  history_.taken(p, ended, std::move(runs));
}

status lrc::release() {
  {
    const turn mine(*this);
    const observe::during working(port_.activity(), observe::phase::protocol);
    const observe::span traced(port_.activity(), observe::trace_kind::release);
    count(counter::releases);
    std::vector<page_id> written;
    pages_.take_written(written);
    std::scoped_lock guard(lock_);
    count(counter::notices_out, history_.end_interval(std::move(written), in_barrier_));
  }
  return collect_if_large(2);
}

// --- notices ---------------------------------------------------------------------------------------------------------------------

void lrc::knowledge(dsm::notices& into) {
  std::scoped_lock guard(lock_);
  const auto all = std::as_bytes(std::span(history_.seen()));
  into.insert(into.end(), all.begin(), all.end());
}

void lrc::notices_for(bytes knowledge, dsm::notices& into) {
  vector_time theirs(port_.nodes());
  if (knowledge.size() != theirs.size() * sizeof theirs[0]) return;
  std::memcpy(theirs.data(), knowledge.data(), knowledge.size());
  std::scoped_lock guard(lock_);
  history_.notices_beyond(theirs, into);
}

// What has been collected is known to all. Every node tells its own intervals. What one ends when it is in the barrier already is told by
// those who have heard of it, with all before that of the same node, so that nobody learns them out of order.
void lrc::news(dsm::notices& into) {
  std::scoped_lock guard(lock_);
  in_barrier_ = true;
  vector_time others_tell = history_.logged();
  for (node_id n = 0; n < port_.nodes(); ++n)
    //~ lrc_tells_a_barrier_its_own_news_only
    if (n == port_.self() || history_.late_beyond(n, told_[n])) others_tell[n] = told_[n];
  history_.notices_beyond(others_tell, into);
  announced_ = told_;
  history::raise(announced_, into);
}

std::size_t lrc::unseen(bytes told) {
  std::scoped_lock guard(lock_);
  return history_.unseen(told);
}

void lrc::all_told(bytes from_others) {
  {
    std::scoped_lock guard(lock_);
    history::raise(announced_, from_others);
    told_ = announced_;
    in_barrier_ = false;
  }
  collect_if_large(4).ignore();  // a broken job is noticed by whoever waits next
}

// A node says that it has seen an interval once it has closed what the interval changed: another thread may ask for a lock meanwhile.
status lrc::acquire(bytes from_releasers) {
  const turn mine(*this);
  const observe::during working(port_.activity(), observe::phase::protocol);
  const observe::span traced(port_.activity(), observe::trace_kind::acquire);
  count(counter::acquires);
  std::vector<page_id> changed;
  vector_time upto;
  {
    std::scoped_lock guard(lock_);
    if (!history_.learn(from_releasers, changed, upto)) return {errc::invalid_argument, "write notices that make no sense"};
  }
  count(counter::notices_in, changed.size());
  std::sort(changed.begin(), changed.end());
  changed.erase(std::unique(changed.begin(), changed.end()), changed.end());
  for (page_id p : changed) {
    hold e(*this, p);
    close(p);
  }
  std::scoped_lock guard(lock_);
  history_.saw(upto);
  return {};
}

// --- what others ask -------------------------------------------------------------------------------------------------------------

void lrc::serve_page(const message& m) {
  if (m.words.size() != 2 || m.words[1] >= pages_.count()) return;
  const auto p = static_cast<page_id>(m.words[1]);
  auto copy = std::make_shared<std::vector<std::byte>>();
  add_jobs(
      {{p,
        [this, p, copy] {
          vector_time has;
          {
            std::scoped_lock guard(lock_);
            has = history_.has(p);
          }
          const auto vector = std::as_bytes(std::span(has));
          copy->assign(vector.begin(), vector.end());
          copy->resize(vector.size() + page_bytes);
          pages_.read(p, copy->data() + vector.size());
        },
        [this, copy, to = m.source, q = m.words[0]] {
          const word words[] = {q, static_cast<word>(history::answer::all)};
          dsm::send_parcel(port_, to, lane::reply, dsm::page_reply, words, *copy).ignore();  // a requester that is gone needs none
        }}});
}

void lrc::serve_diffs(const message& m) {
  if (m.words.size() != 5 || m.words[1] >= pages_.count()) return;
  const auto p = static_cast<page_id>(m.words[1]);
  const auto after = static_cast<interval_number>(m.words[2]), upto = static_cast<interval_number>(m.words[3]);
  const auto answer = [this, p, after, upto, skip = m.words[4], to = m.source, q = m.words[0]] {
    std::vector<std::byte> diffs;
    history::answer found;
    {
      std::scoped_lock guard(lock_);
      found = history_.diffs(p, after, upto, skip, diffs);
    }
    const word words[] = {q, static_cast<word>(found)};
    dsm::send_parcel(port_, to, lane::reply, dsm::diff_reply, words, diffs).ignore();  // as above
    std::uint64_t epoch;
    ask_if_large(2, epoch);
  };
  bool made;
  {
    std::scoped_lock guard(lock_);
    made = !history_.untaken(p, upto);
  }
  if (made) return answer();
  add_jobs({{p, [this, p] { take_diff(p); }, answer}});
}

void lrc::add_jobs(std::list<job> more) {
  const std::size_t some = more.size();
  {
    std::scoped_lock guard(lock_);
    jobs_.splice(jobs_.end(), more);
  }
  waiting_jobs_.fetch_add(some);  // before the look at entries and the gate; whoever holds them looks here after giving them back
  do_jobs();
}

// All who look do so with the lock, so nobody is turned away by somebody else's look.
void lrc::do_jobs() {
  while (waiting_jobs_.load() != 0) {
    std::list<job> mine;
    bool given = false;
    const auto can_be_done = [&](const job& each) {
      //~ lrc_closes_during_a_release
      if (each.closes && !gate_.try_lock()) return false;
      if (table_.try_take(each.page)) return true;
      if (each.closes) gate_.give(), given = true;
      return false;
    };
    {
      std::scoped_lock guard(lock_);
      const auto j = std::find_if(jobs_.begin(), jobs_.end(), can_be_done);
      if (j != jobs_.end()) mine.splice(mine.begin(), jobs_, j);
    }
    if (given) gate_.wake();
    if (mine.empty()) return;  // whoever holds what they need will
    waiting_jobs_.fetch_sub(1);
    const job& now = mine.front();
    now.with_entry();
    table_.give(now.page);
    if (now.closes) gate_.unlock();
    now.afterwards();
  }
}

}  // namespace weft::protocols
