#include "vmmc/questions.h"

#include "base/text.h"

namespace weft::communication {

result<answer> questions::ask(port& at, node_id node, handler_id id, std::span<const word> words, bytes payload,
                              port::duration limit) {
  pending mine{node, {}, {}};
  std::vector<word> all = {0};
  all.insert(all.end(), words.begin(), words.end());
  {
    std::scoped_lock lock(lock_);
    all[0] = next_++;
    open_.emplace(all[0], &mine);
  }
  auto outcome = at.send(node, lane::request, id, all, payload);
  const bool sent = outcome.ok();
  if (sent)
    outcome = at.wait([&] { return mine.done.load(std::memory_order_acquire) || at.failed(node); }, limit);  // pairs with take()
  {
    std::scoped_lock lock(lock_);
    open_.erase(all[0]);
  }
  if (mine.done.load(std::memory_order_acquire)) return std::move(mine.got);
  if (!sent) return outcome;
  if (at.failed(node)) return at.fence(node);  // the port's own sentence about it
  if (outcome.ok() || outcome.code() == errc::timed_out)
    return {errc::timed_out,
            base::format("node %u: no answer from node %u for %.3g s", at.self(), node, static_cast<double>(limit.count()) / 1e9)};
  return outcome;
}

void questions::take(const message& m) {
  if (m.words.empty()) return;
  std::scoped_lock lock(lock_);
  const auto found = open_.find(m.words[0]);
  if (found == open_.end() || found->second->node != m.source || found->second->done.load(std::memory_order_relaxed)) return;
  found->second->got.words.assign(m.words.begin() + 1, m.words.end());
  found->second->got.text.assign(reinterpret_cast<const char*>(m.payload.data()), m.payload.size());
  found->second->done.store(true, std::memory_order_release);  // pairs with the acquire in ask
}

}  // namespace weft::communication
