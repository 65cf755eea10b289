#include "observe/allocation_log.h"

#include <execinfo.h>

#include <algorithm>

namespace weft::observe {

namespace {

constexpr int own_calls = 2;                    // of the log itself
constexpr std::size_t longest_gap = 16 * 1024;  // inside a group: blocks of one size class lie close together

}  // namespace

void allocation_log::keep(const void* at, std::size_t size) {
  const auto began = base::now();
  void* calls[own_calls + most_calls];
  const int found = ::backtrace(calls, own_calls + static_cast<int>(most_calls));
  chain from{};
  for (int i = own_calls; i < found; ++i) from[static_cast<std::size_t>(i - own_calls)] = calls[i];
  std::scoped_lock lock(lock_);
  keep(from, at, size);
  cost_ += base::now() - began;
}

void allocation_log::keep(const chain& from, const void* at, std::size_t size) {
  auto site = sites_.find(from);
  if (site == sites_.end()) {
    if (sites_.size() >= most_sites) return;
    site = sites_.emplace(from, static_cast<std::uint32_t>(sites_.size())).first;
  }
  const auto* first = static_cast<const std::byte*>(at);
  if (blocks_.size() >= most_blocks && blocks_.count(first) == 0) return;
  blocks_[first] = {size, site->second};
}

std::vector<allocation_log::group> allocation_log::groups() const {
  std::scoped_lock lock(lock_);
  std::vector<group> all;
  for (const auto& [first, b] : blocks_) {
    if (!all.empty() && all.back().site == b.site &&
        static_cast<std::size_t>(first - all.back().first) <= all.back().bytes + longest_gap && b.size <= longest_gap) {
      all.back().bytes = std::max(all.back().bytes, static_cast<std::size_t>(first - all.back().first) + b.size);
      ++all.back().blocks;
    } else {
      all.push_back({first, b.size, 1, b.site});
    }
  }
  return all;
}

base::nanoseconds allocation_log::cost() const {
  std::scoped_lock lock(lock_);
  return cost_;
}

std::vector<allocation_log::chain> allocation_log::sites() const {
  std::scoped_lock lock(lock_);
  std::vector<chain> all(sites_.size());
  for (const auto& [c, number] : sites_) all[number] = c;
  return all;
}

}  // namespace weft::observe
