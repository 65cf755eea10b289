// How a node on the same host is woken where the provider has nothing to sleep on: a page that its peers map, with a word that says who
// sleeps and words to sleep on. Senders ring after they have handed something to the provider.
//
// Nobody sleeps through news: a sleeper says so before its last look; a sender looks whether somebody sleeps after it has sent. Both
// fence in between, so one of them sees the other.
#pragma once

#include <atomic>

#include "base/text.h"
#include "fabric/driver.h"
#include "os/futex.h"
#include "os/memory_file.h"

namespace weft::fabric::ofi {

class bell {
 public:
  // This node's own, for others to open by the descriptor's number.
  static result<bell> create(node_id self) {
    const std::size_t size = os::round_to_pages(sizeof(page));
    auto file = os::create_memory_file(base::format("weft-%u-bell", self), size);
    if (!file) return file.failure();
    return map(std::move(*file));
  }
  static result<bell> open(pid_t pid, int descriptor) {
    auto file = os::open_descriptor_of(pid, descriptor, true);
    if (!file) return file.failure();
    return map(std::move(*file));
  }

  bell() = default;
  explicit operator bool() const noexcept { return page_ != nullptr; }
  int descriptor() const noexcept { return file_.get(); }

  void ring() noexcept {
    std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with the fence in arm: the news or the sleeper, one is seen
    std::uint32_t who = page_->asleep.load(std::memory_order_relaxed);
    if (who == 0 || !page_->asleep.compare_exchange_strong(who, 0, std::memory_order_relaxed)) return;
    page_->rung[who % 4].fetch_add(1, std::memory_order_release);
    os::futex_wake(page_->rung[who % 4], 1);
  }

  void arm(sleeper who) noexcept {
    page_->asleep.store(static_cast<std::uint32_t>(who), std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with the fence in ring
  }
  void disarm() noexcept { page_->asleep.store(0, std::memory_order_relaxed); }  // a late ring wakes for nothing

  // Sleeps until a ring, if `decide` says so when it is told whether `who` is armed. It is asked after the bell has been looked at:
  // whatever would change its mind afterwards is followed by a ring that ends the sleep.
  template <typename F>
  void sleep(sleeper who, base::nanoseconds limit, F&& decide) noexcept {
    auto& word = page_->rung[static_cast<std::size_t>(who)];
    const std::uint32_t seen = word.load(std::memory_order_acquire);  // pairs with the release in ring and wake
    if (decide(page_->asleep.load() == static_cast<std::uint32_t>(who))) os::futex_wait(word, seen, limit);
  }

  // Wakes `who` whether armed or not.
  void wake(sleeper who) noexcept {
    auto& word = page_->rung[static_cast<std::size_t>(who)];
    word.fetch_add(1, std::memory_order_release);
    os::futex_wake(word, 1);
  }

 private:
  struct page {
    std::atomic<std::uint32_t> asleep{0};
    os::futex_word rung[4] = {};
  };

  static result<bell> map(os::unique_fd file) {
    auto where = os::map_file(file.get(), 0, os::round_to_pages(sizeof(page)), true);
    if (!where) return where.failure();
    bell b;
    b.file_ = std::move(file);
    b.where_ = std::move(*where);
    b.page_ = reinterpret_cast<page*>(b.where_.base());
    return b;
  }

  os::unique_fd file_;
  os::mapping where_;
  page* page_ = nullptr;
};

}  // namespace weft::fabric::ofi
