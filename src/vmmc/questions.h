// Questions to other nodes that wait for an answer on the reply lane. Each has a token that comes back with the answer; a late answer
// finds nobody and is dropped.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <weft/port.h>

namespace weft::communication {

struct answer {
  std::vector<word> words;  // without the token
  std::string text;
};

class questions {
 public:
  // Sends `words` behind a token to `node` and waits for the answer at most `limit`; the node's failure ends the wait.
  result<answer> ask(port& at, node_id node, handler_id id, std::span<const word> words, bytes payload, port::duration limit);

  // For the handler of answers: the token comes from outside and may be anything.
  void take(const message& m);

 private:
  struct pending {
    node_id node;
    std::atomic<bool> done{false};
    answer got;
  };
  std::mutex lock_;  // guards everything, and what a pending one holds until it is done
  word next_ = 1;
  std::map<word, pending*> open_;
};

}  // namespace weft::communication
