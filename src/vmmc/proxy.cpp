#include "vmmc/proxy.h"

#include <algorithm>

#include "base/text.h"
#include "vmmc/own_handlers.h"
#include "vmmc/state.h"

namespace weft {

namespace communication {

access_counters::access_counters(std::uint64_t size, access_callback at_zero)
    : pages_((size + page - 1) / page),
      at_zero_(std::move(at_zero)),
      left_(std::make_unique<std::atomic<std::uint32_t>[]>(pages_)) {}

bool access_counters::arm(std::uint64_t which, std::uint32_t accesses) noexcept {
  if (which >= pages_) return false;
  left_[which].store(accesses, std::memory_order_relaxed);  // relaxed: a counter orders nothing
  return true;
}

std::uint32_t access_counters::left(std::uint64_t which) const noexcept {
  return which < pages_ ? left_[which].load(std::memory_order_relaxed) : 0;
}

void access_counters::count(std::uint64_t offset, std::size_t size) {
  const std::uint64_t first = offset / page, last = (offset + std::max<std::size_t>(size, 1) - 1) / page;
  for (std::uint64_t p = first; p <= last && p < pages_; ++p) {
    std::uint32_t seen = left_[p].load(std::memory_order_relaxed);
    while (seen > 0 && !left_[p].compare_exchange_weak(seen, seen - 1, std::memory_order_relaxed)) {
    }
    if (seen == 1 && at_zero_) at_zero_(p);
  }
}

}  // namespace communication

imported::imported(std::shared_ptr<communication::proxy> p)
    : port_(&p->state->at), node_(p->node), window_(p->window), counting_(&p->counting), proxy_(std::move(p)) {}

const std::string& imported::name() const noexcept {
  return proxy_->name;
}

void imported::count(std::uint64_t offset, std::size_t size) const {
  // Acquire pairs with the release in on_access_zero: the counters are made.
  if (auto* counters = proxy_->counters.load(std::memory_order_acquire)) counters->count(offset, size);
}

void imported::on_access_zero(access_callback at_zero) const {
  auto fresh = std::make_unique<communication::access_counters>(window_.size, std::move(at_zero));
  std::scoped_lock lock(proxy_->lock);
  proxy_->counters.store(fresh.get(), std::memory_order_release);  // pairs with the acquire in count
  proxy_->all_counters.push_back(std::move(fresh));
  proxy_->counting.store(true, std::memory_order_relaxed);
}

status imported::arm_access_counter(std::uint64_t page, std::uint32_t accesses) const {
  auto* counters = proxy_->counters.load(std::memory_order_acquire);
  if (!counters) return {errc::invalid_argument, "no access counters: call on_access_zero first"};
  if (!counters->arm(page, accesses))
    return {errc::out_of_bounds,
            base::format("'%s' has no page %llu", proxy_->name.c_str(), static_cast<unsigned long long>(page))};
  return {};
}

std::uint32_t imported::accesses_left(std::uint64_t page) const {
  auto* counters = proxy_->counters.load(std::memory_order_acquire);
  return counters ? counters->left(page) : 0;
}

status imported::update_gathered(std::uint64_t offset, std::span<const bytes> pieces) const {
  std::vector<run> runs;
  runs.reserve(pieces.size());
  for (const bytes& piece : pieces) {
    runs.push_back({offset, piece});
    offset += piece.size();
  }
  return update_scattered(runs);
}

status imported::update_scattered(std::span<const run> runs) const {
  auto outcome = port_->put_runs(node_, window_, runs);
  if (counting_->load(std::memory_order_relaxed)) [[unlikely]]
    for (const run& r : runs) count(r.offset, r.data.size());
  return outcome;
}

status imported::update_and_notify(std::uint64_t offset, bytes source, word tag) const {
  if (!allows(window_.allowed, rights::notify))
    return {errc::no_right, base::format("node %u exports '%s' without notifications", node_, proxy_->name.c_str())};
  auto& unread = proxy_->state->unread;
  if (auto reserved = unread.reserve(node_); !reserved) return reserved;
  auto sent = update(offset, source);
  const word words[] = {window_.id, window_.capability, offset, source.size(), tag};
  if (sent.ok()) sent = port_->send(node_, lane::request, communication::own::notify, words);
  if (!sent.ok()) unread.give_back(node_, 1);
  return sent;
}

status imported::fence() const {
  return proxy_->state->fence(node_);
}

}  // namespace weft
