// The two nodes of a measurement as one of them sees it: the port, the other's memory and queue, the handlers, and the orders by
// which the leader (node 0) has the follower (node 1) take part.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <vector>

#include <weft/job.h>

#include "bench/sides/arena.h"
#include "bench/floor/bare_socket.h"
#include "bench/sides/operation.h"

namespace weft::bench {

// The handlers, and what they count. On the follower they are run by its driving thread while follow() waits; on the leader `pong`
// is what it waits for.
struct message_station {
  static constexpr handler_id ping = first_user_handler;  // answered by pong, words and payload returned
  static constexpr handler_id pong = first_user_handler + 1;
  static constexpr handler_id count = first_user_handler + 2;  // one of a stream; the last is answered by pong
  static constexpr handler_id hold =
      first_user_handler + 3;  // the handler does not return before arena::released: messages pile up
  static constexpr handler_id mark = first_user_handler + 4;  // behind a burst; answered by pong
  static constexpr handler_id take = first_user_handler + 5;  // one of a burst
  static constexpr handler_id done = first_user_handler + 6;  // the follower may leave serve()

  std::atomic<std::uint64_t> pongs{0};
  std::atomic<bool> finished{false};
  std::uint64_t counted = 0, expected = 0;  // the driver's
  std::int64_t opened_at = 0;               // the driver's: when the first was counted, or the hold ended
};

// A message of so many bytes of application data: up to 20 words, beyond that a word and a payload.
struct message_shape {
  std::array<word, most_words> words{};
  std::size_t used = 1;
  bytes payload;

  std::span<const word> first() const { return {words.data(), used}; }
};

class vmmc_side;
class memory_side;

class duo {
 public:
  enum class with { the_port_alone, vmmc, memory };
  duo(job& all, with what);
  ~duo();

  bool leads() const { return port_.self() == 0; }
  node_id other() const { return 1 - port_.self(); }
  weft::port& at() { return port_; }
  shared_arena& shared() { return shared_; }
  message_station& station() { return station_; }
  bare_sockets& sockets() { return sockets_; }

  const window& mine() const { return windows_[port_.self()]; }
  const window& theirs() const { return windows_[other()]; }
  const queue& my_queue() const { return queues_[port_.self()]; }
  const queue& their_queue() const { return queues_[other()]; }
  std::atomic_ref<word> word_here() { return std::atomic_ref(*reinterpret_cast<word*>(memory_.base)); }
  std::span<std::byte> block(std::size_t size) { return {private_.get(), size}; }  // this node's own memory, not exposed

  // The leader: runs an operation with the follower.
  timing run(std::size_t operation, std::size_t size, std::uint64_t count);
  void dismiss();  // no more orders

  // The follower: obeys until dismissed.
  void obey();

  // What stands on vmmc or on shared memory, when asked for.
  vmmc_side& vmmc() { return *vmmc_; }
  memory_side& pages() { return *pages_; }
  const memory& exposed() const { return memory_; }

  // One of a stream has arrived from `source`; the last is answered.
  void count_one(node_id source);

  // For operations.
  message_shape shape(std::size_t size);
  void send(lane l, handler_id id, const message_shape& what) { port_.send(other(), l, id, what.first(), what.payload).or_throw(); }
  void wait_for_pongs(std::uint64_t how_many);
  void serve();  // the follower drives until the leader says finish()
  void finish();

 private:
  void register_handlers();
  void prepare(std::uint64_t count);

  weft::port& port_;
  shared_arena shared_;
  message_station station_;
  memory memory_;
  std::vector<window> windows_;
  std::vector<queue> queues_;
  std::unique_ptr<std::byte[], void (*)(void*)> private_;
  bare_sockets sockets_;
  std::uint64_t orders_ = 0;
  std::unique_ptr<vmmc_side> vmmc_;
  std::unique_ptr<memory_side> pages_;
};

}  // namespace weft::bench
