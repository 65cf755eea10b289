// What the copies of an import share: where it leads, and its access counters.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <string>

#include <weft/vmmc.h>

namespace weft::communication {

// Telegraphos, section 3: each access takes one from the page's counter; at zero the processor is told.
class access_counters {
 public:
  static constexpr std::uint64_t page = 4096;

  access_counters(std::uint64_t size, access_callback at_zero);

  bool arm(std::uint64_t which, std::uint32_t accesses) noexcept;
  std::uint32_t left(std::uint64_t which) const noexcept;
  void count(std::uint64_t offset, std::size_t size);

 private:
  const std::uint64_t pages_;
  const access_callback at_zero_;
  std::unique_ptr<std::atomic<std::uint32_t>[]> left_;
};

struct proxy {
  std::shared_ptr<communication::state> state;
  node_id node = 0;
  weft::window window;
  std::string name;

  std::atomic<bool> counting{false};  // relaxed: accesses at the very time of switching on may go uncounted
  std::atomic<access_counters*> counters{nullptr};
  std::mutex lock;                                            // guards all_counters
  std::deque<std::unique_ptr<access_counters>> all_counters;  // replaced ones stay: an access may be counting
};

}  // namespace weft::communication
