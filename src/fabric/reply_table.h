// Requests whose answers are on their way: one entry each, named by a token that travels with the request and comes back with the
// reply. A token carries a generation, so a late reply to an abandoned request finds nobody.
//
// Threads: the driver claims an entry while it writes the results (and the requester's memory), so that a requester who gives up
// waits for that to end. The requester reads results once `done`.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <weft/port.h>

#include "base/growing_array.h"

namespace weft::fabric {

struct pending_reply {
  std::atomic<bool> done{true};
  std::uint32_t generation = 0;
  node_id node = 0;
  word value = 0;  // what the reply brought
  errc code{};
  std::string sentence;  // not empty: the operation failed

  // Of a get: what is still to be asked for, and what has been.
  weft::window window;
  std::uint64_t offset = 0;
  mutable_bytes into;
  std::size_t asked = 0;                // bytes; the requester's
  std::atomic<std::size_t> arrived{0};  // bytes; the driver's

  // Release pairs with the acquire of whoever asks for `done`: the results are visible.
  void complete() noexcept { done.store(true, std::memory_order_release); }
  void fail(errc why, std::string text) {
    code = why;
    sentence = std::move(text);
    complete();
  }
};

class reply_table {
 public:
  static constexpr std::size_t most = 1024;

  // An entry that its requester cannot give up meanwhile; empty when nobody waits for the token (any more).
  struct claim {
    std::unique_lock<std::mutex> held;
    pending_reply* reply = nullptr;
    explicit operator bool() const noexcept { return reply != nullptr; }
    pending_reply* operator->() const noexcept { return reply; }
  };

  // A fresh entry and its token, or nothing when all are in use.
  std::optional<word> open(node_id node);
  pending_reply& at(word token) noexcept { return entries_[token & (most - 1)]; }
  void close(word token);

  // For the driver. The token comes from outside and may be anything; the reply must come from the node that was asked.
  claim find(word token, node_id from);

 private:
  std::mutex lock_;                  // guards free_, generations, who makes entries, and entries while they are claimed
  std::vector<std::uint16_t> free_;  // of those that have been made
  base::growing_array<pending_reply, most> entries_;
};

}  // namespace weft::fabric
