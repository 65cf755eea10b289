// Homes that move: a page whose changes come from one other node, time after time, gets that node for its home.
//
// The old home offers the page with its reply to changes. The writer drops its copy and asks for the page; the old home hands it over if
// its own view does not have it open, and remembers where it has gone. If it is open, it is closed at the old home's next release, so
// that the next offer succeeds. Whoever asks the old home, or sends it changes, is told where to go.
//
// Updates of the old home may still be on their way to holders, and must not arrive after those of the new one. So the old home sends
// a message behind them to all nodes, who pass it to the new home; that is home when it has heard from all.
#include <algorithm>
#include <cstring>

#include "dsm/own_handlers.h"
#include "protocols/hlrc/hlrc.h"

namespace weft::protocols {

using dsm::page_bytes;
using dsm::page_id;

// Whether this node is home to a page that it is believed to be home to; otherwise who is. A page that is on its way here is asked for
// again. With copies_lock_.
bool hlrc::at_home(page_id p, node_id& elsewhere) const {
  elsewhere = port_.self();
  //~ moving_serves_what_is_on_its_way
  if (std::find(asked_for_.begin(), asked_for_.end(), p) != asked_for_.end()) return false;
  const auto gone = record(p).gone_to_plus_1;
  if (gone == 0) return true;
  elsewhere = gone - 1;
  return false;
}

// Behind the gate, after the changes are out.
status hlrc::move_homes(std::vector<written_page>& written) {
  close_wanted(written);
  auto list = std::exchange(offered_, {});
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
  //~ moving_does_not_drop_its_copy
  if (auto dropped = drop(list); !dropped) return dropped;
  for (page_id p : list)
    if (auto done = become_home(p); !done) return done;
  return {};
}

// Pages whose home is here and could be elsewhere. They count as written, because we cannot know what was written since they were looked at.
void hlrc::close_wanted(std::vector<written_page>& written) {
  std::vector<page_id> list;
  {
    std::scoped_lock lock(copies_lock_);
    list.swap(wanted_);
  }
  for (page_id p : list) {
    dsm::page_table::hold e(table_, p);
    if (e->home_plus_1 != port_.self() + 1 || e->now == dsm::view::closed) continue;
    //~ moving_closes_the_table_only
    pages_.close({p, p + 1});
    table_.show(p, dsm::view::closed);
    //~ moving_does_not_tell_what_it_closes
    written.push_back({p, port_.self()});
  }
}

// The copy has been dropped, so nothing here is lost when the page comes.
status hlrc::become_home(page_id p) {
  dsm::page_table::hold e(table_, p);
  const node_id from = e->home_plus_1 - 1;
  //~ moving_keeps_its_copy
  if (e->now != dsm::view::closed || !e->settled || from == port_.self()) return {};
  auto q = std::make_unique<question>();
  q->home = from;
  q->of = {p, 1};
  {
    std::scoped_lock lock(copies_lock_);
    asked_for_.push_back(p);
  }
  const word request[] = {reinterpret_cast<word>(q.get()), p};
  auto sent = port_.send(from, lane::request, dsm::home_request, request);
  if (sent)
    sent = dsm::wait_for(
        port_, [&] { return q->done.load(std::memory_order_acquire); }, "waiting to become a page's home");
  if (!sent) return (void)q.release(), sent.clone();  // the answer may still come, in a program that is about to end
  //~ moving_is_not_written_down
  return q->served != 0 ? homes_.moved_here(*e, p) : status();
}

// At the old home, on whichever thread drives. The reply holds the page and the bits of its holders, or nothing.
void hlrc::serve_home(const message& m) {
  if (m.words.size() != 2 || m.words[1] >= pages_.count()) return;
  const auto p = static_cast<page_id>(m.words[1]);
  base::byte_buffer content;
  bool updated = false;
  if (table_.try_take(p)) {
    std::scoped_lock lock(copies_lock_);
    node_id elsewhere = 0;
    dsm::page_table::entry& e = table_.peek(p);
    // A page that this node was given and has never used is not settled here.
    if (at_home(p, elsewhere) && (!e.settled || e.home_plus_1 == port_.self() + 1)) {
      //~ moving_hands_over_an_open_page
      if (e.now == dsm::view::closed) {
        content.resize(page_bytes + holders(p).size_bytes());
        pages_.read(p, content.data());
        std::memcpy(content.data() + page_bytes, holders(p).data(), holders(p).size_bytes());
        updated = record(p).updated;
        //~ moving_forgets_where_to
        record(p).gone_to_plus_1 = m.source + 1;
        //~ moving_old_home_goes_on
        e.home_plus_1 = m.source + 1;
        e.settled = true;  // the page's word may be behind
      } else {
        wanted_.push_back(p);
      }
    }
    table_.give(p);
  }
  word flushed = 0;
  const word flush[] = {m.words[0], m.source};
  for (node_id n = 0; updated && n < port_.nodes(); ++n) {
    if (n == port_.self() || n == m.source) continue;             // what we have sent to the new home is before the reply
    port_.send(n, lane::reply, dsm::copy_flush, flush).ignore();  // who is gone breaks the job
    ++flushed;
  }
  const word reply[] = {m.words[0], flushed};
  port_.send(m.source, lane::reply, dsm::home_reply, reply, content).ignore();
}

// At a node that may have been sent updates by the old home: all of them are here.
void hlrc::serve_flush(const message& m) {
  if (m.words.size() != 2 || m.words[1] >= port_.nodes()) return;
  port_.send(static_cast<node_id>(m.words[1]), lane::reply, dsm::copy_flush_reply, m.words.first(1)).ignore();  // as above
}

void hlrc::take_flush(const message& m) {
  auto* q = reinterpret_cast<question*>(m.words[0]);
  --q->holders;
  now_home(*q);
}

// Whoever has a copy is taken over; without update mode somebody may.
void hlrc::take_home(const message& m) {
  auto* q = reinterpret_cast<question*>(m.words[0]);
  const auto p = q->of.first;
  {
    std::scoped_lock lock(copies_lock_);
    if (m.payload.size() == page_bytes + holders(p).size_bytes()) {
      //~ moving_without_the_page
      std::memcpy(pages_.frame(p).data(), m.payload.data(), page_bytes);
      //~ moving_forgets_the_holders
      std::memcpy(holders(p).data(), m.payload.data() + page_bytes, holders(p).size_bytes());
      holders(p)[port_.self() / 64] &= ~(word{1} << port_.self() % 64);
      //~ moving_back_is_not_noticed
      record(p) = {};
      //~ moving_keeps_its_doubts
      use(p) = {};
      //~ moving_forgets_that_there_are_copies
      copied_.insert(p);
      q->served = 1;
    }
  }
  q->holders += static_cast<std::int32_t>(m.words[1]);
  q->answered = true;
  now_home(*q);
}

// If the old home has answered and all who had to have told, requests for the page are served here from now on.
void hlrc::now_home(question& q) {
  //~ moving_overtakes_updates
  if (!q.answered || q.holders != 0) return;
  {
    std::scoped_lock lock(copies_lock_);
    std::erase(asked_for_, q.of.first);
  }
  q.done.store(true, std::memory_order_release);  // pairs with the acquire in become_home
}

}  // namespace weft::protocols
