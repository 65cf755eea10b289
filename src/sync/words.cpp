#include "sync/words.h"

#include "dsm/waiting.h"

namespace weft::sync {

result<std::unique_ptr<words>> words::create(port& p, locks& by, const dsm::exchange& with_all) {
  std::unique_ptr<words> w(new words(p, by));
  auto own = dsm::lazy_memory::create(most_objects * sizeof(word));
  if (!own) return own.failure();
  w->own_ = std::move(*own);
  auto exposed = w->own_.expose(p);
  if (!exposed) return exposed.failure();
  w->windows_ = dsm::exchange_values(with_all, *exposed);
  return w;
}

result<word> words::load(object_number n) {
  const node_id m = manager_of(n);
  word value = 0;
  auto got = port_.get(m, windows_[m], offset(n), std::as_writable_bytes(std::span(&value, 1)));
  if (!got) return got;
  return value;
}

result<word> words::update(object_number n, const change& how) {
  if (auto locked = locks_.lock(n, duration::max()); !locked) return locked.failure();
  auto before = load(n);
  status changed;
  if (before)
    if (const auto after = how(*before)) {
      const node_id m = manager_of(n);
      changed = port_.put(m, windows_[m], offset(n), std::as_bytes(std::span<const word, 1>(&*after, 1)));
      if (changed) changed = port_.fence(m);
    }
  if (auto unlocked = locks_.unlock(n); !unlocked) return unlocked;
  if (!changed) return changed;
  return before;
}

// Looks again and again: closely at first, then less and less often. Whoever changes the word ends it; a failed node breaks the
// job.
result<bool> words::wait(object_number n, const std::function<bool(word)>& enough, duration limit) {
  constexpr duration longest = std::chrono::milliseconds(1);
  duration waited{0};
  for (duration pause{0};; pause = std::min(pause + pause / 2 + duration(500), longest)) {
    const auto value = load(n);
    if (!value) return value.failure();
    if (enough(*value)) return true;
    if (limit != duration::max() && waited >= limit) return false;
    if (dsm::broken(port_)) return status(errc::node_failed, dsm::job_broken);
    port_.wait([] { return false; }, pause).ignore();
    waited += pause + duration(500);
  }
}

status words::acquire(object_number n) {
  if (auto locked = locks_.lock(n, duration::max()); !locked) return locked.failure();
  return locks_.unlock(n);
}

}  // namespace weft::sync
