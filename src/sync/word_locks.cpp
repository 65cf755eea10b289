#include "sync/word_locks.h"

#include <cstddef>
#include <mutex>

#include "dsm/waiting.h"

namespace weft::sync {

namespace {

// Words of ours that other nodes store into. Acquire: what they did before is visible.
word load(const word& w) {
  return __atomic_load_n(&w, __ATOMIC_ACQUIRE);
}

}  // namespace

result<std::unique_ptr<word_locks>> word_locks::create(port& p, dsm::protocol& protocol, const dsm::exchange& with_all) {
  std::unique_ptr<word_locks> l(new word_locks(p, protocol));
  auto tails = dsm::lazy_memory::create(most_objects * sizeof(word));
  if (!tails) return tails.failure();
  l->tails_ = std::move(*tails);
  auto places = dsm::lazy_memory::create(most_places * sizeof(place));
  if (!places) return places.failure();
  l->places_ = std::move(*places);
  for (std::uint32_t i = most_places; i-- > 0;) l->free_.push_back(i);
  card mine;
  for (auto [m, w] : {std::pair{&l->tails_, &mine.tails}, std::pair{&l->places_, &mine.places}}) {
    auto exposed = m->expose(p);
    if (!exposed) return exposed.failure();
    *w = *exposed;
  }
  l->cards_ = dsm::exchange_values(with_all, mine);
  return l;
}

result<std::uint32_t> word_locks::take_place() {
  std::scoped_lock lock(lock_);
  if (free_.empty()) return status(errc::too_large, "the threads of a node hold or want more than 4096 locks at a time");
  const auto i = free_.back();
  free_.pop_back();
  at(i) = {};
  return i;
}

void word_locks::give_place(std::uint32_t i) {
  std::scoped_lock lock(lock_);
  free_.push_back(i);
}

status word_locks::write(word name, std::size_t member, word value) {
  const auto node = static_cast<node_id>(name >> 32);
  const auto i = static_cast<std::uint32_t>(name) - 1;
  const auto put =
      port_.put(node, cards_[node].places, i * sizeof(place) + member, std::as_bytes(std::span<const word, 1>(&value, 1)));
  return put ? port_.nudge(node) : put.clone();
}

result<bool> word_locks::lock(object_number n, duration limit) {
  const auto i = take_place();
  if (!i) return i.failure();
  const word self = name_of(port_.self(), *i);
  const node_id m = manager_of(n);
  const auto offset = std::uint64_t{index_of(n)} * sizeof(word);
  if (limit != duration::max()) {
    auto got = try_for(n, self, limit);
    if (!got || !*got) {
      give_place(*i);
      return got;
    }
  } else {
    const auto before = port_.swap(m, cards_[m].tails, offset, self);
    if (!before) return before.failure();
    if (*before != 0) {
      if (auto named = write(*before, offsetof(place, next), self); !named) return named;
      // The holder ends this wait when it unlocks; its failure breaks the job.
      if (auto waited = dsm::wait_for(
              port_, [&] { return load(at(*i).granted) != 0; }, "waiting for a lock");
          !waited)
        return waited;
    }
  }
  {
    std::scoped_lock guard(lock_);
    held_[n] = *i;
  }
  if (auto acquired = protocol_.acquire({}); !acquired) return acquired;
  return true;
}

// Who may give up does not stand in line: it takes the lock when there is no line.
result<bool> word_locks::try_for(object_number n, word self, duration limit) {
  const node_id m = manager_of(n);
  const auto until = port_.now() + limit;
  for (auto pause = std::chrono::microseconds(1);; pause = std::min(pause * 2, std::chrono::microseconds(1000))) {
    const auto before = port_.compare_swap(m, cards_[m].tails, std::uint64_t{index_of(n)} * sizeof(word), 0, self);
    if (!before) return before.failure();
    if (*before == 0) return true;
    if (limit == duration::zero() || port_.now() >= until) return false;
    if (dsm::broken(port_)) return status(errc::node_failed, dsm::job_broken);
    port_.wait([] { return false; }, pause).ignore();
  }
}

status word_locks::unlock(object_number n) {
  std::uint32_t i;
  {
    std::scoped_lock guard(lock_);
    const auto found = held_.find(n);
    if (found == held_.end()) return {errc::invalid_argument, "a mutex was unlocked that this node has not locked"};
    i = found->second;
    held_.erase(found);
  }
  if (auto released = protocol_.release(); !released) return released;
  place& mine = at(i);
  if (load(mine.next) == 0) {
    const node_id m = manager_of(n);
    const word self = name_of(port_.self(), i);
    const auto before = port_.compare_swap(m, cards_[m].tails, std::uint64_t{index_of(n)} * sizeof(word), self, 0);
    if (!before) return before.failure();
    if (*before == self) {
      give_place(i);
      return {};
    }
    // Somebody has swapped itself in and is about to write its name here.
    if (auto waited = dsm::wait_for(
            port_, [&] { return load(mine.next) != 0; }, "waiting for the next in line for a lock");
        !waited)
      return waited;
  }
  const word next = load(mine.next);
  give_place(i);
  return write(next, offsetof(place, granted), 1);
}

}  // namespace weft::sync
