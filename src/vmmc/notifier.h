// Notifications at the exporter: they queue in the order of arrival and are run one at a time by a thread of their own. Its counterpart
// at the sender is a count of what has not been run yet (unread.h), so the queue holds at most imported::most_unread of each node.
//
// Threads: push() is the driver's; run ones by the notifier's thread; everything else by any thread.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <weft/vmmc.h>

namespace weft::communication {

class notifier {
 public:
  explicit notifier(port& at) : port_(at), unreported_(at.nodes(), 0), waiting_(at.nodes(), 0) {}
  ~notifier() { stop(); }

  // False when that node has more waiting here than it may have: it does not keep to the rules.
  bool push(std::shared_ptr<export_record> of, const notification& what);
  void block();
  void unblock();

  // Those of `of` that have not begun are dropped; returns when none of them runs, unless the caller is one.
  void forget(const export_record* of);

  void stop();

 private:
  struct item {
    std::shared_ptr<export_record> of;
    notification what;
  };
  void work();
  void over(node_id source, std::unique_lock<std::mutex>& held);

  port& port_;
  std::mutex lock_;  // guards everything below
  std::condition_variable changed_;
  std::deque<item> queue_;
  std::vector<std::uint32_t> unreported_;  // run, but the sender has not been told; by node
  std::vector<std::uint32_t> waiting_;     // in the queue; by node
  const export_record* running_ = nullptr;
  bool blocked_ = false, stopping_ = false;
  std::thread thread_;
};

}  // namespace weft::communication
