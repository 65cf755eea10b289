#include "sync/word_barrier.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "dsm/waiting.h"

namespace weft::sync {

result<std::unique_ptr<word_barrier>> word_barrier::create(port& p, dsm::protocol& protocol, releases& own,
                                                           const dsm::exchange& with_all) {
  std::unique_ptr<word_barrier> b(new word_barrier(p, protocol, own));
  auto memory = dsm::lazy_memory::create(p, most_rounds * sizeof(word) + 2 * p.nodes() * most_gathered);
  if (!memory) return memory.failure();
  b->own_ = std::move(*memory);
  auto exposed = b->own_.expose(p);
  if (!exposed) return exposed.failure();
  b->windows_ = dsm::exchange_values(with_all, *exposed);
  return b;
}

status word_barrier::meet(bytes mine) {
  ++epoch_;
  const node_id n = port_.nodes(), self = port_.self();
  if (!mine.empty()) std::memcpy(own_.base() + value_offset(self), mine.data(), mine.size());
  std::size_t round = 0;
  //~ word_barrier_skips_rounds
  for (node_id step = 1; step < n; step *= 2, ++round) {
    const node_id to = (self + step) % n;
    if (!mine.empty())
      if (auto passed = pass_on(to, std::min(step, n - step), mine.size()); !passed) return passed;
    if (auto put = port_.put(to, windows_[to], round * sizeof(word), std::as_bytes(std::span<const word, 1>(&epoch_, 1))); !put)
      return put;
    //~ word_barrier_wakes_nobody
    if (auto nudged = port_.nudge(to); !nudged) return nudged;
    // Acquire: what that node did before it stored is visible.
    const auto arrived = [&] { return __atomic_load_n(rounds() + round, __ATOMIC_ACQUIRE) >= epoch_; };
    if (auto waited = dsm::wait_for_store(port_, arrived, "waiting at a barrier"); !waited) return waited;
  }
  return {};
}

// The values of this node and of those before it, which have come in the rounds so far. The word of the round is stored after them.
status word_barrier::pass_on(node_id to, node_id values, std::size_t size) {
  const node_id n = port_.nodes();
  std::vector<run> runs;
  for (node_id back = 0; back < values; ++back) {
    const std::size_t at = value_offset((port_.self() + n - back) % n);
    runs.push_back({at, {own_.base() + at, size}});
  }
  return port_.put_runs(to, windows_[to], runs);
}

status word_barrier::arrive_and_wait() {
  if (auto released = releases_.make(); !released) return released;
  if (auto met = meet({}); !met) return met;
  return protocol_.acquire({});
}

status word_barrier::gather(bytes mine, mutable_bytes all) {
  if (mine.size() > most_gathered) return {errc::too_large, "more than 1024 bytes in a reduction"};
  if (auto released = releases_.make(); !released) return released;
  if (auto met = meet(mine); !met) return met;
  for (node_id n = 0; n < port_.nodes() && !mine.empty(); ++n)
    std::memcpy(all.data() + n * mine.size(), own_.base() + value_offset(n), mine.size());
  return protocol_.acquire({});
}

}  // namespace weft::sync
