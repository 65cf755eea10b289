// Asynchronous deliberate updates: a ring of requests and the thread that performs them.
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include <weft/vmmc.h>

namespace weft {

struct update_queue::inside {
  struct request {
    imported to;
    std::uint64_t offset;
    bytes source;
  };

  explicit inside(std::size_t most) : depth(most), worker([this] { work(); }) {}
  ~inside() {
    {
      std::scoped_lock lock(guard);
      stopping = true;
      changed.notify_all();
    }
    worker.join();
  }

  void work() {
    std::unique_lock lock(guard);
    while (true) {
      changed.wait(lock, [&] { return stopping || !requests.empty(); });
      if (requests.empty()) return;
      const request& next = requests.front();  // stays in the queue while it is performed: that is what counts as waiting
      lock.unlock();
      auto outcome = next.to.update(next.offset, next.source);
      lock.lock();
      requests.pop_front();
      if (!outcome.ok() && failure.ok()) failure = std::move(outcome);
      changed.notify_all();
    }
  }

  const std::size_t depth;
  std::mutex guard;  // guards everything below
  std::condition_variable changed;
  std::deque<request> requests;
  status failure;
  bool stopping = false;
  std::thread worker;
};

update_queue::update_queue(std::size_t depth) : inside_(std::make_unique<inside>(depth == 0 ? 1 : depth)) {}
update_queue::~update_queue() {
  finish().ignore();
}

status update_queue::start(const imported& to, std::uint64_t offset, bytes source) {
  if (source.size() > to.size() || offset > to.size() - source.size())
    return {errc::out_of_bounds, "node " + std::to_string(to.node()) + ": the update would leave '" + to.name() + "'"};
  std::unique_lock lock(inside_->guard);
  inside_->changed.wait(lock, [&] { return inside_->requests.size() < inside_->depth; });
  inside_->requests.push_back({to, offset, source});
  inside_->changed.notify_all();
  return {};
}

std::size_t update_queue::waiting() const {
  std::scoped_lock lock(inside_->guard);
  return inside_->requests.size();
}

status update_queue::finish() {
  std::unique_lock lock(inside_->guard);
  inside_->changed.wait(lock, [&] { return inside_->requests.empty(); });
  return std::exchange(inside_->failure, status());
}

}  // namespace weft
