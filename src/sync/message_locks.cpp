#include "sync/message_locks.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include <weft/detail/thread_number.h>

#include "observe/activity.h"
#include "dsm/own_handlers.h"
#include "dsm/parcels.h"
#include "dsm/waiting.h"

namespace weft::sync {

result<std::unique_ptr<message_locks>> message_locks::create(port& p, dsm::protocol& protocol, releases& own, dsm::chores* later,
                                                             const dsm::exchange& with_all) {
  std::unique_ptr<message_locks> l(new message_locks(p, protocol, own, later));
  p.on(dsm::lock_request, [self = l.get()](const message& m) { self->serve_request(m); });
  p.on(dsm::lock_forward, [self = l.get()](const message& m) { self->serve_forward(m); });
  p.on(dsm::lock_grant, [self = l.get()](const message& m) { self->take_grant(m); });
  with_all({});  // nobody asks before all can answer
  return l;
}

message_locks::local& message_locks::find(object_number n) {
  const auto [found, made] = locals_.try_emplace(n);
  if (made) found->second.here = manager_of(n) == port_.self();
  return found->second;
}

bool message_locks::take_here(object_number n) {
  std::scoped_lock guard(lock_);
  const auto found = locals_.find(n);
  //~ lock_that_came_is_taken_as_one_that_was_here
  return found != locals_.end() && !found->second.came && take(found->second);
}

bool message_locks::take(local& l) {
  //~ lock_taken_while_held
  //~ lock_is_taken_while_it_leaves
  if (!l.here || l.holder != 0 || l.leaving) return false;
  l.holder = detail::thread_number();
  l.taken = std::min(l.taken + 1, 2u);
  return true;
}

// Takes the lock if it is here and free, with what came with it.
bool message_locks::take(object_number n, grant& with) {
  std::scoped_lock guard(lock_);
  local& l = find(n);
  if (!take(l)) return false;
  with.came = std::exchange(l.came, false);
  with.notices.swap(l.arriving);
  return true;
}

void message_locks::want(object_number n, bool begin) {
  std::scoped_lock guard(lock_);
  begin ? ++find(n).wanted : --find(n).wanted;
}

result<bool> message_locks::lock(object_number n, duration limit) {
  grant with;
  if (!take(n, with)) {
    if (auto* a = port_.activity()) a->count(observe::event::lock_waits);
    want(n, true);
    auto got = wait(n, limit, with);
    want(n, false);
    if (!got || !*got) return got;
  }
  //~ lock_is_not_an_acquire
  //~ lock_without_notices_is_not_an_acquire
  if (with.came)
    if (auto acquired = protocol_.acquire(with.notices); !acquired) return acquired;
  return true;
}

// The lock may come here and be passed on before this thread looks: then it is asked for again.
result<bool> message_locks::wait(object_number n, duration limit, grant& with) {
  bool taken = false, away = false;
  const auto news = [&] {
    if (taken || (taken = take(n, with))) return true;
    std::scoped_lock guard(lock_);
    const local& l = find(n);
    return away = !l.here && !l.asked;
  };
  const auto until = port_.now() + std::min(limit, duration(std::chrono::hours(24 * 365)));
  while (!taken) {
    if (auto asked = ask(n); !asked) return asked;
    if (limit == duration::max()) {
      if (auto waited = dsm::wait_for(port_, news, "waiting for a lock"); !waited) return waited;
    } else {
      const auto left = std::max<duration>(until - port_.now(), std::chrono::milliseconds(1));
      if (!port_.wait(news, left)) return taken;
    }
  }
  return true;
}

// Sends a request unless one is under way.
status message_locks::ask(object_number n) {
  {
    std::scoped_lock guard(lock_);
    local& l = find(n);
    if (l.here || l.asked) return {};
    l.asked = true;
  }
  dsm::notices known;
  protocol_.knowledge(known);
  const word words[] = {n, port_.self()};
  return dsm::send_parcel(port_, manager_of(n), lane::request, dsm::lock_request, words, known);
}

// At the manager. The knowledge of a node fits one message: four bytes for each node.
void message_locks::serve_request(const message& m) {
  const object_number n = m.words[0];
  const auto from = static_cast<node_id>(m.words[1]);
  node_id before;
  {
    std::scoped_lock guard(lock_);
    const auto [found, first] = last_.try_emplace(n, port_.self());
    before = found->second;
    found->second = from;
  }
  port_.send(before, lane::reply, dsm::lock_forward, m.words, m.payload).ignore();  // a failed node breaks the job
}

// At who asked last: it has the lock, or will.
void message_locks::serve_forward(const message& m) {
  const object_number n = m.words[0];
  request r{static_cast<node_id>(m.words[1]), {m.payload.begin(), m.payload.end()}};
  {
    std::scoped_lock guard(lock_);
    local& l = find(n);
    l.next.push_back(std::move(r));
    if (!l.here || l.holder != 0 || l.next.size() > 1) return;
    //~ deferred_release_is_never_made
    if (releases_.owed(l.owes)) {
      l.leaving = true;
      later_->add([this, n] { make_up_for(n); });
      return;
    }
    r = leave(l);
  }
  pass_on(n, std::move(r)).ignore();
}

message_locks::request message_locks::leave(local& l) {
  request to = std::move(l.next.front());
  l.next.pop_front();
  l.here = l.came = l.leaving = false;
  l.taken = 0;
  return to;
}

// Somebody has asked for a lock whose release was put off.
void message_locks::make_up_for(object_number n) {
  releases::number owes;
  {
    std::scoped_lock guard(lock_);
    owes = find(n).owes;
  }
  if (!releases_.make_up_for(owes)) return;  // a failed node breaks the job
  request to;
  bool wanted;
  {
    std::scoped_lock guard(lock_);
    local& l = find(n);
    to = leave(l);
    wanted = l.wanted != 0;
  }
  pass_on(n, std::move(to)).ignore();
  if (wanted) port_.nudge(port_.self()).ignore();
}

// The lock has just left this node. Only replies are sent, so a handler may do it.
status message_locks::pass_on(object_number n, request to) {
  dsm::notices granted;
  //~ lock_grant_without_notices
  protocol_.notices_for(to.knowledge, granted);
  {
    // What came with the lock and was never acquired here goes on with it.
    std::scoped_lock guard(lock_);
    local& l = find(n);
    //~ news_of_a_given_up_lock_are_lost
    granted.insert(granted.end(), l.arriving.begin(), l.arriving.end());
    l.arriving.clear();
  }
  return dsm::send_parcel(port_, to.from, lane::reply, dsm::lock_grant, std::span<const word, 1>(&n, 1), granted);
}

void message_locks::take_grant(const message& m) {
  request next;
  {
    std::scoped_lock guard(lock_);
    local& l = find(m.words[0]);
    if (!dsm::take_piece(m, l.arriving)) return;
    l.here = l.came = true;
    l.asked = false;
    //~ given_up_lock_stays
    if (l.wanted != 0 || l.next.empty()) return;
    next = leave(l);  // who asked here has given up: it goes on at once
  }
  pass_on(m.words[0], std::move(next)).ignore();
}

std::vector<object_number> message_locks::held() {
  std::scoped_lock guard(lock_);
  std::vector<object_number> all;
  for (const auto& [n, l] : locals_)
    if (l.holder != 0) all.push_back(n);
  return all;
}

status message_locks::unlock(object_number n, bool soon_wanted) {
  bool put_off, wanted;
  {
    std::scoped_lock guard(lock_);
    local& l = find(n);
    if (l.holder != detail::thread_number()) return {errc::invalid_argument, detail::not_the_holder};
    put_off = later_ != nullptr && l.taken > 1 && l.next.empty() && !soon_wanted;
    if (put_off) {
      l.owes = releases_.put_off();
      l.holder = 0;
    }
    wanted = l.wanted != 0;
  }
  request next;
  bool passing = false;
  if (!put_off) {
    //~ unlock_is_not_a_release
    if (auto released = releases_.make(); !released) return released;
    std::scoped_lock guard(lock_);
    local& l = find(n);
    l.holder = 0;
    wanted = l.wanted != 0;
    //~ unlock_wakes_nobody
    passing = !l.next.empty();
    if (passing) next = leave(l);
  }
  if (wanted) port_.nudge(port_.self()).ignore();
  return passing ? pass_on(n, std::move(next)) : status();
}

}  // namespace weft::sync
