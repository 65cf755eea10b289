#include "vmmc/updater.h"

#include <algorithm>

#include "base/text.h"
#include "vmmc/doubled_memory.h"
#include "vmmc/tracked_memory.h"

namespace weft::communication {

namespace {

constexpr std::chrono::nanoseconds shortest_delay = std::chrono::microseconds(50);

// Other nodes' memory. A simulated interface maps stores and no loads, and does not call itself one that maps.
bool can_map(const imported& to) {
  weft::port& p = to.port();
  return p.can().mapped || (to.node() != p.self() && p.mapped(to.node(), to.window()));
}

}  // namespace

result<std::shared_ptr<bound_memory>> updater::make(const imported& to, std::uint64_t offset, std::size_t size,
                                                    const binding_options& options) {
  if (options.way == update_way::tracked) return tracked_memory::make(*this, to, offset, size, options);
  if (options.way == update_way::doubled) return doubled_memory::make(*this, to, offset, size, options);
  std::byte* there = to.port().mapped(to.node(), to.window());
  if (!there)
    return {errc::unavailable, base::format("the %s fabric cannot map memory of node %u; bind it 'tracked' or 'doubled'",
                                            to.port().name(), to.node())};
  if (!options.local.empty())
    return {errc::invalid_argument, "a mapped binding has no local memory: the remote memory itself is there"};
  return std::shared_ptr<bound_memory>(
      std::make_shared<mapped_memory>(*this, to, offset, mutable_bytes(there + offset, size), options));
}

result<std::shared_ptr<bound_memory>> updater::bind(const imported& to, std::uint64_t offset, std::size_t size,
                                                    binding_options options) {
  if (offset % sizeof(word) != 0 || size % sizeof(word) != 0 || size == 0)
    return {errc::invalid_argument, "a binding's offset and size are multiples of 8, its size is not 0"};
  if (offset > to.size() || size > to.size() - offset)
    return {errc::out_of_bounds, base::format("'%s' has %llu bytes; the binding would leave it", to.name().c_str(),
                                              static_cast<unsigned long long>(to.size()))};
  if (!allows(to.allowed(), rights::write))
    return {errc::no_right, base::format("node %u exports '%s' without the right to write", to.node(), to.name().c_str())};
  if (!options.local.empty() && options.local.size() < size)
    return {errc::invalid_argument, "the local memory is smaller than the binding"};
  if (options.way == update_way::automatic)
    options.way = options.local.empty() && can_map(to) ? update_way::mapped : update_way::tracked;
  auto made = make(to, offset, size, options);
  if (made) add(*made);
  return made;
}

void updater::add(std::shared_ptr<bound_memory> b) {
  if (b->way() == update_way::mapped) return;
  std::scoped_lock lock(lock_);
  const auto due = due_of(*b);
  bindings_.push_back({std::move(b), due});
  count_.store(bindings_.size());
  if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
  changed_.notify_all();
}

status updater::flush(node_id node) {
  if (count_.load() == 0) return {};
  std::vector<std::shared_ptr<bound_memory>> some;
  {
    std::scoped_lock lock(lock_);
    for (const auto& b : bindings_)
      if (b.memory->node() == node) some.push_back(b.memory);
  }
  status outcome;
  for (const auto& b : some)
    if (auto flushed = b->flush(); !flushed && outcome.ok()) outcome = std::move(flushed);
  return outcome;
}

void updater::forget(const bound_memory& b) {
  std::unique_lock lock(lock_);
  std::erase_if(bindings_, [&](const auto& each) { return each.memory.get() == &b; });
  count_.store(bindings_.size());
  if (std::this_thread::get_id() != thread_.get_id()) changed_.wait(lock, [&] { return busy_ != &b; });
}

void updater::stop() {
  {
    std::scoped_lock lock(lock_);
    stopping_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

// Every binding in its turn, the one that has waited longest for its time first.
void updater::work() {
  std::unique_lock lock(lock_);
  while (!stopping_) {
    if (bindings_.empty()) {
      changed_.wait(lock, [&] { return stopping_ || !bindings_.empty(); });
      continue;
    }
    const auto next =
        std::min_element(bindings_.begin(), bindings_.end(), [](const auto& a, const auto& b) { return a.due < b.due; });
    if (const auto due = next->due; due > clock::now()) {
      changed_.wait_until(lock, due);
      continue;  // a binding may have come or gone, even when the time is up
    }
    const auto memory = next->memory;
    busy_ = memory.get();
    lock.unlock();
    memory->flush_in_background();
    lock.lock();
    busy_ = nullptr;
    for (auto& b : bindings_)
      if (b.memory == memory) b.due = due_of(*memory);
    changed_.notify_all();
  }
}

updater::clock::time_point updater::due_of(const bound_memory& b) {
  return clock::now() + std::max(b.options().delay, shortest_delay);
}

}  // namespace weft::communication
