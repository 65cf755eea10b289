#include "sync/words.h"

#include <cstddef>
#include <tuple>

#include "dsm/waiting.h"

namespace weft::sync {

result<std::unique_ptr<words>> words::create(port& p, dsm::protocol& protocol, locks& by, const dsm::exchange& with_all) {
  std::unique_ptr<words> w(new words(p, protocol, by));
  card mine;
  for (auto [memory, size, shown] : {std::tuple{&w->own_, most_objects * sizeof(object), &mine.objects},
                                     std::tuple{&w->bells_, bells * sizeof(word), &mine.bells}}) {
    auto own = dsm::lazy_memory::create(p, size);
    if (!own) return own.failure();
    *memory = std::move(*own);
    auto exposed = memory->expose(p);
    if (!exposed) return exposed.failure();
    *shown = *exposed;
  }
  w->cards_ = dsm::exchange_values(with_all, mine);
  return w;
}

result<word> words::load(object_number n) {
  const node_id m = manager_of(n);
  word value = 0;
  auto got = port_.get(m, cards_[m].objects, offset(n), std::as_writable_bytes(std::span(&value, 1)));
  if (!got) return got;
  return value;
}

result<word> words::update(object_number n, const change& how) {
  if (auto locked = locks_.lock(n, duration::max()); !locked) return locked.failure();
  auto before = load(n);
  result<bool> rung = false;
  if (before)
    if (const auto after = how(*before)) rung = change_and_ring(n, *after);
  // Who has waited asks for the lock next.
  if (auto unlocked = locks_.unlock(n, rung && *rung); !unlocked) return unlocked;
  if (!rung) return rung.failure();
  return before;
}

// With the word's lock. Without notices the lock carries nothing, so who sees the value must find what was written before it.
result<bool> words::change_and_ring(object_number n, word value) {
  const node_id m = manager_of(n);
  if (!protocol_.carries_notices())
    //~ counter_is_not_a_release
    if (auto released = protocol_.release(); !released) return released;
  if (auto put = port_.put(m, cards_[m].objects, offset(n), std::as_bytes(std::span<const word, 1>(&value, 1))); !put) return put;
  // An atomic operation is performed after the put, and waits for its answer: then the value is there.
  const auto waiting = port_.swap(m, cards_[m].objects, offset(n) + offsetof(object, waiting), 0);
  if (!waiting) return waiting.failure();
  for (node_id node = 0; node < port_.nodes(); ++node)
    if ((*waiting >> node % 64 & 1) != 0)
      //~ counter_rings_nobody
      if (auto rung = ring(n, node); !rung) return rung;
  return *waiting != 0;
}

status words::ring(object_number n, node_id node) {
  const word number = word{port_.self() + 1} << 32 | (rings_.fetch_add(1, std::memory_order_relaxed) + 1);
  auto put = port_.put(node, cards_[node].bells, bell_offset(n), std::as_bytes(std::span<const word, 1>(&number, 1)));
  return put ? port_.nudge(node) : put.clone();
}

// Acquire pairs with the put of whoever rings.
word words::bell(object_number n) const {
  return __atomic_load_n(reinterpret_cast<const word*>(bells_.base() + bell_offset(n)), __ATOMIC_ACQUIRE);
}

// Whoever changes the word ends it: a change that the second look misses comes after our bit. Either it finds the bit, and rings, or
// somebody else has found it since, and has rung; the bell was looked at before. A failed node breaks the job, which is looked for once a
// second.
result<bool> words::wait(object_number n, const std::function<bool(word)>& enough, duration limit) {
  constexpr duration longest = std::chrono::seconds(1);
  const node_id m = manager_of(n);
  const duration began = port_.now();
  while (true) {
    auto value = load(n);
    if (!value) return value.failure();
    if (enough(*value)) return true;
    const duration waited = port_.now() - began;
    if (limit != duration::max() && waited >= limit) return false;
    if (dsm::broken(port_)) return status(errc::node_failed, dsm::job_broken);
    const word heard = bell(n);
    const auto asked = port_.fetch_or(m, cards_[m].objects, offset(n) + offsetof(object, waiting), word{1} << port_.self() % 64);
    if (!asked) return asked.failure();
    value = load(n);
    if (!value) return value.failure();
    if (enough(*value)) return true;
    port_.wait([&] { return bell(n) != heard; }, limit == duration::max() ? longest : std::min(longest, limit - waited)).ignore();
  }
}

status words::acquire(object_number n) {
  if (!protocol_.carries_notices()) return protocol_.acquire({});
  if (auto locked = locks_.lock(n, duration::max()); !locked) return locked.failure();
  return locks_.unlock(n);
}

}  // namespace weft::sync
