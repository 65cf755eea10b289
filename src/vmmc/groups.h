// Multicast groups. The owner is the sequencer: members send it their writes, and it puts each to every member, its own copy included,
// from its driving thread. Puts to one node arrive in order, so every copy sees the same sequence.
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <weft/vmmc.h>

namespace weft::communication {

struct state;

// At the owner: the copies of a group.
struct owned_group {
  std::vector<imported> copies;  // of all members
  std::vector<node_id> members;
  std::uint64_t size = 0;
};

// The groups that this node owns, and the thread that waits on behalf of members' fences: handlers may not.
class group_table {
 public:
  explicit group_table(port& at) : port_(at) {}
  ~group_table() { stop(); }

  word add(owned_group g);
  void drop(word id);
  void stop();

  // Handlers.
  void serve_write(const message& m);
  void serve_fence(const message& m);

 private:
  struct waiting_fence {
    std::shared_ptr<owned_group> of;
    node_id source;
    word token;
  };
  std::shared_ptr<owned_group> find(node_id source, word id);
  void work();

  port& port_;
  std::mutex lock_;  // guards everything below
  std::condition_variable changed_;
  word next_ = 1;
  std::map<word, std::shared_ptr<owned_group>> groups_;
  std::map<node_id, status> refusals_;  // the first failure of each member's writes since its last fence
  static constexpr std::size_t most_fences = 4096;
  std::deque<waiting_fence> fences_;  // one a member thread that waits
  bool stopping_ = false;
  std::thread thread_;
};

// A member's part.
class group_state {
 public:
  group_state(std::shared_ptr<state> s, exported copy, node_id owner, word id, exported ready);
  ~group_state();

  std::span<const std::byte> copy() const noexcept { return copy_.memory().span(); }
  node_id owner() const noexcept { return owner_; }
  status write(std::uint64_t offset, bytes source);
  status fence();

 private:
  std::shared_ptr<state> state_;
  exported copy_;
  const node_id owner_;
  const word id_;
  exported ready_;  // the owner's: where members find the group's number
};

result<std::shared_ptr<group_state>> join_group(vmmc& v, const std::shared_ptr<state>& s, std::string_view name,
                                                std::span<const node_id> members, std::size_t size);

}  // namespace weft::communication
