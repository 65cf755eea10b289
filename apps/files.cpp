// files: a file system in the memory of all nodes (SHRIMP, section 3: DFS-sockets), over streams of bytes. A file's blocks are dealt to the
// nodes in turn. Half of the nodes have a client that reads a large file, block by block, and adds it up; all serve what others ask for while
// they wait.
//
//   weft run -n 4 build/bin/files --blocks 256 --verify [--automatic]
#include <weft/weft.h>

#include <chrono>
#include <numeric>
#include <vector>

#include "checksum.h"
#include "options.h"
#include "random.h"
#include "report.h"
#include "streams.h"

namespace {

constexpr std::size_t block_words = 1024;  // 8 KiB
using block = std::vector<weft::word>;
constexpr weft::word no_more = ~weft::word{0};

struct problem {
  std::size_t blocks = 256;  // of each client's file
};

weft::word word_of(std::uint64_t seed, std::size_t number, std::size_t i) {
  return app::random_bits(seed, number * block_words + i);
}

class file_node {
 public:
  file_node(const problem& p, std::uint64_t seed, weft::job& job, app::streams& s)
      : streams_(s), nodes_(job.nodes()), self_(job.self()), clients_((nodes_ + 1) / 2), blocks_(p.blocks), answer_(block_words) {
    cache_ = reinterpret_cast<weft::word*>(job.port().allocate(own_blocks() * block_words * sizeof(weft::word)).or_throw().base);
    for (std::size_t b = 0; b < own_blocks(); ++b)
      for (std::size_t i = 0; i < block_words; ++i) cache_[b * block_words + i] = word_of(seed, b * nodes_ + self_, i);
  }

  // The sum of what this node's client reads; 0 if it has none. When it returns all clients are done.
  weft::word run() {
    weft::word sum = 0;
    if (self_ < clients_)
      for (std::size_t b = 0; b < blocks_; ++b) sum += sum_of(self_ * blocks_ + b);
    if (self_ < clients_)
      for (weft::node_id n = 0; n < nodes_; ++n) ask(n, no_more);
    serve_until([&] { return done_ == clients_; });
    return sum;
  }

  // What all clients together should have read.
  static weft::word expected(const problem& p, std::uint64_t seed, weft::node_id nodes) {
    weft::word sum = 0;
    for (std::size_t b = 0; b < (nodes + 1) / 2 * p.blocks; ++b)
      for (std::size_t i = 0; i < block_words; ++i) sum += word_of(seed, b, i);
    return sum;
  }

 private:
  std::size_t own_blocks() const { return (clients_ * blocks_ + nodes_ - 1) / nodes_; }

  weft::word sum_of(std::size_t number) {
    const auto home = static_cast<weft::node_id>(number % nodes_);
    if (home == self_) return std::accumulate(cached(number), cached(number) + block_words, weft::word{0});
    ask(home, number);
    received_ = 0;
    serve_until([&] { return received_ == block_words * sizeof(weft::word); });
    answering_ = nodes_;
    return std::accumulate(answer_.begin(), answer_.end(), weft::word{0});
  }

  const weft::word* cached(std::size_t number) const { return cache_ + number / nodes_ * block_words; }

  void ask(weft::node_id n, weft::word what) {
    if (n == self_) {
      done_ += what == no_more;
      return;
    }
    const weft::word message[] = {request, what};
    streams_.send(n, std::as_bytes(std::span(message)));
  }

  template <typename Condition>
  void serve_until(Condition&& until) {
    while (!until()) {
      bool something = false;
      for (weft::node_id n = 0; n < nodes_; ++n)
        if (n != self_ && streams_.has_something(n)) {
          take(n);
          something = true;
        }
      if (!something)
        streams_.wait([&] {
          for (weft::node_id n = 0; n < nodes_; ++n)
            if (n != self_ && streams_.has_something(n)) return true;
          return false;
        });
    }
  }

  // A request, or an answer: the first word says which.
  void take(weft::node_id from) {
    if (from == answering_) return more_of_answer(from);
    weft::word kind;
    streams_.receive(from, std::as_writable_bytes(std::span(&kind, 1)));
    if (kind == answer) {
      answering_ = from;
      return more_of_answer(from);
    }
    weft::word what;
    streams_.receive(from, std::as_writable_bytes(std::span(&what, 1)));
    if (what == no_more) {
      ++done_;
      return;
    }
    const weft::word head[] = {answer};
    streams_.send(from, std::as_bytes(std::span(head)));
    streams_.send(from, std::as_bytes(std::span(cached(what), block_words)));
  }
  void more_of_answer(weft::node_id from) {
    received_ += streams_.receive_some(from, std::as_writable_bytes(std::span(answer_)).subspan(received_));
  }

  static constexpr weft::word request = 1, answer = 2;

  app::streams& streams_;
  const weft::node_id nodes_, self_, clients_;
  const std::size_t blocks_;
  weft::word* cache_;
  block answer_;
  std::size_t received_ = 0;
  weft::node_id answering_ = nodes_;  // who is in the middle of an answer to this node
  weft::node_id done_ = 0;            // clients
};

app::outcome run(const problem& p, const app::options& o, weft::job& job, app::streams& between) {
  file_node node(p, o.seed, job, between);
  job.meet();
  const auto start = std::chrono::steady_clock::now();
  const weft::word mine = node.run();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  weft::word sum = 0;
  for (const weft::word w : job.exchange_values(mine)) sum += w;
  const bool wrong = o.verify && job.self() == 0 && sum != file_node::expected(p, o.seed, job.nodes());
  return {seconds, app::hexadecimal(sum), wrong ? "the files' sum is wrong" : ""};
}

}  // namespace

int main(int argc, char** argv) {
  weft::job job(argc, argv);
  app::options o("Clients that read files in the memory of all nodes");
  problem p;
  bool automatic = false;
  o.number("--blocks", p.blocks, "of 8 KiB in each client's file", {1, 1 << 20});
  o.flag("--automatic", automatic, "send by automatic update");
  if (const auto status = o.parse(job, argc, argv)) return *status;
  weft::vmmc vmmc(job);
  app::streams between(job, vmmc, automatic);
  const auto result = app::repeated(o, [&] { return run(p, o, job, between); });
  return app::report(job, o, "files, " + std::to_string(p.blocks) + " blocks a client", result);
}
