#include "sync/word_locks.h"

#include <cstddef>
#include <mutex>

#include <weft/detail/thread_number.h>

#include "observe/activity.h"
#include "dsm/own_handlers.h"
#include "dsm/waiting.h"

namespace weft::sync {

namespace {

// Words of ours that other nodes store into. Acquire: what they did before is visible.
word load(const word& w) {
  return __atomic_load_n(&w, __ATOMIC_ACQUIRE);
}

}  // namespace

result<std::unique_ptr<word_locks>> word_locks::create(port& p, dsm::protocol& protocol, releases& own, dsm::chores* later,
                                                       const dsm::exchange& with_all) {
  std::unique_ptr<word_locks> l(new word_locks(p, protocol, own, later));
  auto tails = dsm::lazy_memory::create(p, most_objects * sizeof(word));
  if (!tails) return tails.failure();
  l->tails_ = std::move(*tails);
  auto places = dsm::lazy_memory::create(p, most_places * sizeof(place));
  if (!places) return places.failure();
  l->places_ = std::move(*places);
  card mine;
  for (auto [m, w] : {std::pair{&l->tails_, &mine.tails}, std::pair{&l->places_, &mine.places}}) {
    auto exposed = m->expose(p);
    if (!exposed) return exposed.failure();
    *w = *exposed;
  }
  p.on(dsm::lock_wanted, [self = l.get()](const message& m) { self->take_wanted(m); });
  l->cards_ = dsm::exchange_values(with_all, mine);
  return l;
}

result<std::uint32_t> word_locks::take_place() {
  std::scoped_lock lock(lock_);
  if (free_.empty() && used_places_ == most_places)
    return status(errc::too_large, "the threads of a node hold or want more than 65536 locks at a time");
  const auto i = free_.empty() ? used_places_++ : free_.back();
  if (!free_.empty()) free_.pop_back();
  at(i) = {};
  return i;
}

void word_locks::give_place(std::uint32_t i) {
  std::scoped_lock lock(lock_);
  free_.push_back(i);
}

// --- locking ---------------------------------------------------------------------------------------------------------------------

// A lock that this node keeps: nothing is acquired, because nobody else had it since.
bool word_locks::take_here(object_number n) {
  std::scoped_lock guard(lock_);
  const auto found = held_.find(n);
  if (found == held_.end() || found->second.thread != 0) return false;
  found->second.thread = detail::thread_number();
  return true;
}

result<bool> word_locks::lock(object_number n, duration limit) {
  if (take_here(n)) return true;
  const auto i = take_place();
  if (!i) return i.failure();
  const word self = name_of(port_.self(), *i);
  const node_id m = manager_of(n);
  const auto before = limit == duration::max() ? port_.swap(m, cards_[m].tails, std::uint64_t{index_of(n)} * sizeof(word), self)
                                               : try_for(n, self, limit);
  if (!before) return before.failure();
  if (!is_free(*before)) {
    if (limit != duration::max()) {
      give_place(*i);
      return false;
    }
    if (auto waited = stand_in_line(n, *i, *before); !waited) return waited;
  }
  {
    std::scoped_lock guard(lock_);
    held_[n] = {*i, detail::thread_number(), *before == free_after(port_.self())};
  }
  //~ word_lock_is_not_an_acquire
  if (auto acquired = protocol_.acquire({}); !acquired) return acquired;
  return true;
}

status word_locks::stand_in_line(object_number n, std::uint32_t i, word before) {
  if (auto* a = port_.activity()) a->count(observe::event::lock_waits);
  const auto node = static_cast<node_id>(before >> 32);
  const auto offset = std::uint64_t{static_cast<std::uint32_t>(before) - 1} * sizeof(place) + offsetof(place, next);
  const auto was = port_.swap(node, cards_[node].places, offset, name_of(port_.self(), i));
  if (!was) return was.failure();
  if (auto nudged = port_.nudge(node); !nudged) return nudged;
  //~ kept_lock_is_not_asked_for
  if (*was == kept)
    if (auto asked = ask_for(n, before); !asked) return asked;
  // The holder ends this wait when it unlocks, or the node that keeps the lock; their failure breaks the job.
  return dsm::wait_for_store(
      port_, [&] { return load(at(i).granted) != 0; }, "waiting for a lock");
}

// Who may give up does not stand in line: it takes the lock when there is no line. What the lock's word was at last.
result<word> word_locks::try_for(object_number n, word self, duration limit) {
  const node_id m = manager_of(n);
  const auto until = port_.now() + limit;
  word expected = 0;
  for (auto pause = std::chrono::microseconds(1);; pause = std::min(pause * 2, std::chrono::microseconds(1000))) {
    auto before = port_.compare_swap(m, cards_[m].tails, std::uint64_t{index_of(n)} * sizeof(word), expected, self);
    if (!before || *before == expected) return before;
    if (is_free(*before)) {
      expected = *before;
      continue;
    }
    //~ kept_lock_is_kept_from_those_who_try
    if (auto asked = ask_for(n, *before); !asked) return asked;  // it may be kept
    if (limit == duration::zero() || port_.now() >= until) return before;
    if (dsm::broken(port_)) return status(errc::node_failed, dsm::job_broken);
    port_.wait([] { return false; }, pause).ignore();
  }
}

std::vector<object_number> word_locks::held() {
  std::scoped_lock guard(lock_);
  std::vector<object_number> all;
  for (const auto& [n, h] : held_)
    if (h.thread != 0 && h.thread != leaving) all.push_back(n);
  return all;
}

// --- unlocking -------------------------------------------------------------------------------------------------------------------

// Where locks are words, flags and counters are waited for without their locks.
status word_locks::unlock(object_number n, bool) {
  std::uint32_t i;
  bool may_keep;
  {
    std::scoped_lock guard(lock_);
    const auto found = held_.find(n);
    if (found == held_.end() || found->second.thread != detail::thread_number())
      return {errc::invalid_argument, detail::not_the_holder};
    holding& h = found->second;
    i = h.place;
    // Under the lock: who leaves its name after this look sends a message, which finds the lock kept.
    //~ kept_lock_hides_the_next
    if (h.kept && load(at(i).next) == kept) {
      h.thread = 0;
      h.owes = releases_.put_off();
      return {};
    }
    may_keep = later_ != nullptr && h.again && !h.kept && kept_ < most_kept;
  }
  if (may_keep && keep(n, i)) return {};
  //~ word_unlock_is_not_a_release
  if (auto released = releases_.make(); !released) return released;
  {
    std::scoped_lock guard(lock_);
    const auto found = held_.find(n);
    if (found->second.kept) --kept_;
    held_.erase(found);
  }
  return pass_on(n, i);
}

// Says in the lock's place that it is kept, unless somebody has left a name there. Then it may be anybody's of this node.
bool word_locks::keep(object_number n, std::uint32_t i) {
  const auto offset = std::uint64_t{i} * sizeof(place) + offsetof(place, next);
  const auto was = port_.compare_swap(port_.self(), cards_[port_.self()].places, offset, 0, kept);
  if (!was || *was != 0) return false;
  std::scoped_lock guard(lock_);
  holding& h = held_.find(n)->second;
  h.kept = true;
  ++kept_;
  if (load(at(i).next) != kept) return false;
  h.thread = 0;
  h.owes = releases_.put_off();
  return true;
}

// To the next in line; if there is none, the lock is free.
status word_locks::pass_on(object_number n, std::uint32_t i) {
  place& mine = at(i);
  if (!is_name(load(mine.next))) {
    const node_id m = manager_of(n);
    const word self = name_of(port_.self(), i);
    const auto before =
        port_.compare_swap(m, cards_[m].tails, std::uint64_t{index_of(n)} * sizeof(word), self, free_after(port_.self()));
    if (!before) return before.failure();
    //~ word_lock_forgets_who_comes
    if (*before == self) {
      give_place(i);
      return {};
    }
    // Somebody has swapped itself in and is about to leave its name here.
    if (auto waited = dsm::wait_for_store(
            port_, [&] { return is_name(load(mine.next)); }, "waiting for the next in line for a lock");
        !waited)
      return waited;
  }
  const word next = load(mine.next), granted = 1;
  give_place(i);
  const auto node = static_cast<node_id>(next >> 32);
  const auto offset = std::uint64_t{static_cast<std::uint32_t>(next) - 1} * sizeof(place) + offsetof(place, granted);
  const auto put = port_.put(node, cards_[node].places, offset, std::as_bytes(std::span<const word, 1>(&granted, 1)));
  //~ word_lock_wakes_nobody
  return put ? port_.nudge(node) : put.clone();
}

// --- locks that are kept and wanted elsewhere --------------------------------------------------------------------------------------

// Has the node that is last in line look whether it keeps the lock.
status word_locks::ask_for(object_number n, word name) {
  return port_.send(static_cast<node_id>(name >> 32), lane::request, dsm::lock_wanted, std::span<const word, 1>(&n, 1));
}

// A lock that is not kept now needs nothing: whoever has locked it sees the name when it unlocks.
void word_locks::take_wanted(const message& m) {
  const object_number n = m.words[0];
  std::scoped_lock guard(lock_);
  const auto found = held_.find(n);
  if (found == held_.end() || found->second.thread != 0) return;
  found->second.thread = leaving;
  later_->add([this, n] {
    holding h;
    {
      std::scoped_lock inner(lock_);
      h = held_.find(n)->second;
    }
    //~ kept_lock_goes_without_its_release
    if (!releases_.make_up_for(h.owes)) return;  // a failed node breaks the job
    {
      std::scoped_lock inner(lock_);
      --kept_;
      held_.erase(n);
    }
    pass_on(n, h.place).ignore();
  });
}

}  // namespace weft::sync
