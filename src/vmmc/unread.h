// The sender's side of notifications: how many each node has not run yet, and what it refused. Keeps the exporter's queue bounded.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include <weft/vmmc.h>

#include "base/text.h"

namespace weft::communication {

class unread_notifications {
 public:
  explicit unread_notifications(port& at)
      : port_(at), counts_(std::make_unique<std::atomic<std::uint32_t>[]>(at.nodes())), refusals_(at.nodes()) {}

  // Takes one of the places that `node` has for us; waits while there is none.
  status reserve(node_id node) {
    auto& count = counts_[node];
    auto take = [&] {
      std::uint32_t seen = count.load(std::memory_order_relaxed);  // relaxed throughout: the count guards no data
      while (seen < imported::most_unread)
        if (count.compare_exchange_weak(seen, seen + 1, std::memory_order_relaxed)) return true;
      return false;
    };
    if (take()) return {};
    bool taken = false;
    auto waited = port_.wait([&] { return (taken = taken || take()) || port_.failed(node); }, port_.patience());
    if (taken) return {};
    if (port_.failed(node)) return port_.fence(node);
    if (waited.ok() || waited.code() != errc::timed_out) return waited;
    return {errc::timed_out,
            base::format("node %u: node %u has not run %u notifications for %.3g s; does it block them?", port_.self(), node,
                         imported::most_unread, static_cast<double>(port_.patience().count()) / 1e9)};
  }

  void give_back(node_id node, word how_many) {
    auto& count = counts_[node];
    std::uint32_t seen = count.load(std::memory_order_relaxed);
    while (!count.compare_exchange_weak(seen, how_many >= seen ? 0 : seen - static_cast<std::uint32_t>(how_many),
                                        std::memory_order_relaxed)) {
    }
  }

  void refused(node_id node, status why) {
    std::scoped_lock lock(lock_);
    if (refusals_[node].ok()) refusals_[node] = std::move(why);
    any_refusal_.store(true, std::memory_order_relaxed);
  }

  status take_refusal(node_id node) {
    if (!any_refusal_.load(std::memory_order_relaxed)) return {};  // relaxed: a late one is told by the next fence
    std::scoped_lock lock(lock_);
    return std::exchange(refusals_[node], status());
  }

 private:
  port& port_;
  std::unique_ptr<std::atomic<std::uint32_t>[]> counts_;
  std::atomic<bool> any_refusal_{false};
  std::mutex lock_;  // guards refusals_
  std::vector<status> refusals_;
};

}  // namespace weft::communication
