#include "bench/sides/hand_over.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include <weft/memory.h>

#include "base/clock.h"

namespace weft::bench {
namespace {

std::span<base::nanoseconds> notes_of(shared_arena& shared, node_id node, std::uint64_t count) {
  return {reinterpret_cast<base::nanoseconds*>(shared->field.data()) + node * most_hand_overs, count};
}

}  // namespace

double hand_over(shared_arena& shared, weft::mutex& lock, std::uint64_t count) {
  const auto& here = space::here();
  const auto mine = notes_of(shared, here.self(), count);
  shared.meet();
  for (auto& taken_at : mine) {
    lock.lock();
    taken_at = base::now();
    lock.unlock();
  }
  shared.meet();
  if (here.self() != 0) return 0;
  std::vector<std::pair<base::nanoseconds, node_id>> all;
  base::nanoseconds first_done = INT64_MAX;
  for (node_id node = 0; node < here.nodes(); ++node) {
    for (const auto taken_at : notes_of(shared, node, count)) all.emplace_back(taken_at, node);
    first_done = std::min(first_done, all.back().first);
  }
  std::sort(all.begin(), all.end());
  std::uint64_t changes = 0;
  base::nanoseconds together = 0;
  for (std::size_t i = 1; i < all.size() && all[i].first <= first_done; ++i) {
    if (all[i].second == all[i - 1].second) continue;
    ++changes;
    together += all[i].first - all[i - 1].first;
  }
  if (changes == 0) return static_cast<double>(first_done - all.front().first);  // none in all that time: it takes longer
  return static_cast<double>(together) / static_cast<double>(changes);
}

measurements contend(job& all, const std::string& owner, const settings& how, const std::function<void(const item&)>& step) {
  constexpr std::uint64_t times = 512, few_times = 64;
  shared_arena shared(all);
  auto& lock = make<weft::mutex>();
  measurements found;
  for (unsigned r = 0; r < how.repeat; ++r) {
    if (all.self() == 0) step({owner, "hand_over", all.nodes(), all.nodes(), {}});
    const double each = hand_over(shared, lock, how.quick ? few_times : times);
    if (all.self() == 0) found.add(owner, "hand_over", all.nodes(), "ns", each);
  }
  return found;
}

}  // namespace weft::bench
