#include "sync/word_barrier.h"

#include <cstring>

#include "dsm/waiting.h"

namespace weft::sync {

result<std::unique_ptr<word_barrier>> word_barrier::create(port& p, dsm::protocol& protocol, releases& own, const dsm::exchange& with_all) {
  std::unique_ptr<word_barrier> b(new word_barrier(p, protocol, own));
  auto memory = dsm::lazy_memory::create(p, most_rounds * sizeof(word) + 2 * p.nodes() * most_gathered);
  if (!memory) return memory.failure();
  b->own_ = std::move(*memory);
  auto exposed = b->own_.expose(p);
  if (!exposed) return exposed.failure();
  b->windows_ = dsm::exchange_values(with_all, *exposed);
  return b;
}

status word_barrier::meet() {
  ++epoch_;
  const node_id n = port_.nodes(), self = port_.self();
  std::size_t round = 0;
  for (node_id step = 1; step < n; step *= 2, ++round) {
    const node_id to = (self + step) % n;
    if (auto put = port_.put(to, windows_[to], round * sizeof(word), std::as_bytes(std::span<const word, 1>(&epoch_, 1))); !put)
      return put;
    if (auto nudged = port_.nudge(to); !nudged) return nudged;
    // Acquire: what that node did before it stored is visible.
    const auto arrived = [&] { return __atomic_load_n(rounds() + round, __ATOMIC_ACQUIRE) >= epoch_; };
    if (auto waited = dsm::wait_for_store(port_, arrived, "waiting at a barrier"); !waited) return waited;
  }
  return {};
}

status word_barrier::arrive_and_wait() {
  if (auto released = releases_.make(); !released) return released;
  if (auto met = meet(); !met) return met;
  return protocol_.acquire({});
}

status word_barrier::gather(bytes mine, mutable_bytes all) {
  if (mine.size() > most_gathered) return {errc::too_large, "more than 1024 bytes in a reduction"};
  if (auto released = releases_.make(); !released) return released;
  for (node_id n = 0; n < port_.nodes(); ++n) {
    if (auto put = port_.put(n, windows_[n], value_offset(port_.self()), mine); !put) return put;
    if (auto fenced = port_.fence(n); !fenced) return fenced;
  }
  const std::size_t first = value_offset(0);
  if (auto met = meet(); !met) return met;
  for (node_id n = 0; n < port_.nodes(); ++n)
    std::memcpy(all.data() + n * mine.size(), own_.base() + first + n * most_gathered, mine.size());
  return protocol_.acquire({});
}

}  // namespace weft::sync
