// Collection: how lrc throws away what it keeps of intervals and diffs, in programs with barriers and without.
//
// Node 0 leads. The steps, each a message to or from all nodes:
//   want     a node has much: node 0 begins, or does so again after this one
//   begin    say what you have seen
//   known    a vector; node 0 takes the largest of every node's intervals. Whoever has seen an interval has seen all before it, so the
//            result is a consistent cut
//   cut      make your diffs up to the cut
//   parcel   from everybody to everybody: the intervals up to the cut, and the diffs of the pages that the other one manages. The
//            receiver closes the pages that changed, as in an acquire that comes early, and puts the diffs into those it manages
//   more     the next piece, please: a handler sends little at a time
//   done
//   forget   the managers have everything up to the cut: intervals and diffs are dropped, copies that lack some are given up
//
// All of it is done by handlers, which never wait, or by a thread that gives back a page's entry or the gate that a handler needed. An
// entry is held while its holder waits for a page or for diffs, which are sent by handlers in every step of a collection; the gate is held
// while its holder waits for an entry. So a collection ends whatever the program's threads do, and a release may wait for it whatever it
// holds of the program's locks.
#include "base/bytes.h"
#include "dsm/own_handlers.h"
#include "dsm/parcels.h"
#include "protocols/lrc/lrc.h"

#include <algorithm>
#include <cstring>

namespace weft::protocols {

using dsm::page_id;

namespace {

vector_time vector_in(bytes content, node_id nodes) {
  vector_time v(nodes);
  std::memcpy(v.data(), content.data(), std::min(content.size(), v.size() * sizeof v[0]));
  return v;
}

bytes bytes_in(const vector_time& v) {
  return std::as_bytes(std::span(v));
}

}  // namespace

// From 1/share of the bound on, asks for a collection, once for each; whether there is so much that a release must wait for it.
bool lrc::ask_if_large(std::size_t share, std::uint64_t& epoch) {
  bool ask, wait;
  {
    std::scoped_lock guard(lock_);
    epoch = history_.epoch();
    const std::size_t now = history_.memory();
    ask = now >= bound_ / share && asked_epoch_ != epoch;
    if (ask) asked_epoch_ = epoch;
    wait = now >= bound_ - bound_ / 8;
  }
  if (ask) tell(0, step::want);
  return wait;
}

// Waits for a second collection if the first had begun before.
status lrc::collect_if_large(std::size_t share) {
  std::uint64_t epoch;
  for (int round = 0; round < 2 && ask_if_large(share, epoch); ++round) {
    const auto over = [&] {
      std::scoped_lock guard(lock_);
      return history_.epoch() != epoch;
    };
    if (auto waited = dsm::wait_for(port_, over, "waiting for a collection of diffs"); !waited) return waited;
  }
  return {};
}

void lrc::tell(node_id node, step s, bytes content) {
  const word words[] = {static_cast<word>(s)};
  dsm::send_parcel(port_, node, lane::reply, dsm::collection, words, content).ignore();  // a failed node breaks the job
}

void lrc::tell_all(step s, bytes content) {
  for (node_id n = 0; n < port_.nodes(); ++n) tell(n, s, content);
}

void lrc::take_step(const message& m) {
  switch (static_cast<step>(m.words[0])) {
    case step::want: return begin_if_idle();
    case step::begin: {
      vector_time seen;
      {
        std::scoped_lock guard(lock_);
        seen = history_.seen();
      }
      return tell(0, step::known, bytes_in(seen));
    }
    case step::known: return take_known(m.payload);
    case step::cut: return take_diffs_up_to(m.payload);
    case step::parcel: return take_piece(m);
    case step::more: return send_piece(m.source);
    case step::done: {
      {
        std::scoped_lock guard(lock_);
        if (++collecting_.finished != port_.nodes()) return;
        collecting_.running = false;
      }
      tell_all(step::forget);
      bool again;
      {
        std::scoped_lock guard(lock_);
        again = collecting_.wanted;
      }
      if (again) begin_if_idle();
      return;
    }
    case step::forget: return forget();
  }
}

// --- at node 0 -------------------------------------------------------------------------------------------------------------------

void lrc::begin_if_idle() {
  {
    std::scoped_lock guard(lock_);
    collecting_.wanted = collecting_.running;
    if (collecting_.running) return;
    collecting_.running = true;
    collecting_.answered = collecting_.finished = 0;
    collecting_.cut.assign(port_.nodes(), 0);
  }
  tell_all(step::begin);
}

void lrc::take_known(bytes vector) {
  const vector_time seen = vector_in(vector, port_.nodes());
  vector_time cut;
  {
    std::scoped_lock guard(lock_);
    for (node_id n = 0; n < port_.nodes(); ++n) collecting_.cut[n] = std::max(collecting_.cut[n], seen[n]);
    if (++collecting_.answered != port_.nodes()) return;
    cut = collecting_.cut;
  }
  tell_all(step::cut, bytes_in(cut));
}

// --- at every node ---------------------------------------------------------------------------------------------------------------

// The last job of a step goes on with the next one.
void lrc::one_job_less(const std::function<void()>& then) {
  {
    std::scoped_lock guard(lock_);
    if (--collecting_.jobs != 0) return;
  }
  then();
}

void lrc::take_diffs_up_to(bytes vector) {
  std::vector<page_id> untaken;
  {
    std::scoped_lock guard(lock_);
    collecting_.agreed = vector_in(vector, port_.nodes());
    untaken = history_.all_untaken(collecting_.agreed[port_.self()]);
    collecting_.jobs = untaken.size() + 1;
  }
  const auto less = [this] { one_job_less([this] { make_parcels(); }); };
  std::list<job> jobs;
  for (page_id p : untaken) jobs.push_back({p, [this, p] { take_diff(p); }, less});
  add_jobs(std::move(jobs));
  less();
}

// The intervals, as one block; then pages with their diffs.
void lrc::make_parcels() {
  {
    std::scoped_lock guard(lock_);
    const interval_number upto = collecting_.agreed[port_.self()];
    dsm::notices notices;
    history_.own_beyond(history_.cut()[port_.self()], upto, notices);
    const auto size = static_cast<std::uint32_t>(notices.size());
    const auto length = base::bytes_of(size);
    collecting_.sent.assign(port_.nodes(), 0);
    collecting_.outgoing.assign(port_.nodes(), {length.begin(), length.end()});
    for (node_id n = 0; n < port_.nodes(); ++n) {
      auto& parcel = collecting_.outgoing[n];
      parcel.insert(parcel.end(), notices.begin(), notices.end());
      //~ lrc_collects_without_the_diffs
      if (n != port_.self()) history_.diffs_for(n, upto, parcel);
    }
  }
  for (node_id n = 0; n < port_.nodes(); ++n) send_piece(n);
}

void lrc::send_piece(node_id to) {
  std::vector<std::byte> piece;
  std::size_t left;
  {
    std::scoped_lock guard(lock_);
    auto& parcel = collecting_.outgoing[to];
    auto& sent = collecting_.sent[to];
    const auto now = bytes(parcel).subspan(sent).first(std::min(parcel.size() - sent, most_payload));
    piece.assign(now.begin(), now.end());
    sent += piece.size();
    left = parcel.size() - sent;
    if (left == 0) parcel = {};
  }
  const word words[] = {static_cast<word>(step::parcel), left};
  port_.send(to, lane::reply, dsm::collection, words, piece).ignore();  // a failed node breaks the job
}

void lrc::take_piece(const message& m) {
  bool complete, all;
  {
    std::scoped_lock guard(lock_);
    complete = dsm::take_piece(m, collecting_.parcels[m.source]);
    all = complete && ++collecting_.arrived == port_.nodes();
  }
  if (!complete) tell(m.source, step::more);
  if (all) take_parcels();
}

void lrc::take_parcels() {
  std::vector<std::vector<std::byte>> parcels(port_.nodes());
  {
    std::scoped_lock guard(lock_);
    parcels.swap(collecting_.parcels);
    collecting_.arrived = 0;
  }
  dsm::notices notices;
  std::unordered_map<page_id, std::vector<std::pair<node_id, bytes>>> diffs;
  const auto kept = std::make_shared<std::vector<std::vector<std::byte>>>(std::move(parcels));
  for (node_id n = 0; n < port_.nodes(); ++n) {
    base::reader in((*kept)[n]);
    const bytes intervals = in.take_block();
    notices.insert(notices.end(), intervals.begin(), intervals.end());
    while (in.left() != 0) {
      const auto p = in.take<page_id>();
      const bytes some = in.take_block();
      if (in.ok() && p < pages_.count()) diffs[p].push_back({n, some});
    }
  }
  std::vector<page_id> changed;
  {
    std::scoped_lock guard(lock_);
    vector_time upto;
    //~ lrc_sees_before_it_closes
    history_.learn(notices, changed, upto);
    std::sort(changed.begin(), changed.end());
    changed.erase(std::unique(changed.begin(), changed.end()), changed.end());
    collecting_.jobs = changed.size() + diffs.size() + 1;
  }
  const auto less = [this] { one_job_less([this] { finish_step(); }); };
  std::list<job> jobs;
  for (page_id p : changed) jobs.push_back({p, [this, p] { close(p); }, less, true});
  for (auto& [p, from] : diffs) jobs.push_back({p, [this, kept, p = p, from = std::move(from)] { put_in(p, from); }, less, true});
  add_jobs(std::move(jobs));
  less();
}

// At the manager. A copy that lacks something of the cut lacks nothing that comes before what it has.
void lrc::put_in(page_id p, const std::vector<std::pair<node_id, bytes>>& from_writers) {
  close(p);
  std::vector<diff> all;
  for (const auto& [writer, encoded] : from_writers) {
    std::vector<diff> some;
    read(encoded, some);
    {
      std::scoped_lock guard(lock_);
      history_.keep_missing(p, writer, some);
    }
    std::move(some.begin(), some.end(), std::back_inserter(all));
  }
  apply_in_order(all, pages_.frame(p));
}

void lrc::finish_step() {
  {
    std::scoped_lock guard(lock_);
    history_.saw(collecting_.agreed);
  }
  tell(0, step::done);
}

void lrc::forget() {
  std::scoped_lock guard(lock_);
  history_.forget(collecting_.agreed);
}

}  // namespace weft::protocols
