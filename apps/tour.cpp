// A tour of the fabric: every operation of a port once, checked, and how fast it was. The first thing to run:
//
//   weft run -n 4 build/bin/tour
#include <weft/weft.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <vector>

namespace {

using namespace std::chrono_literals;
using clock_type = std::chrono::steady_clock;

constexpr weft::handler_id greet = weft::first_user_handler, answer = weft::first_user_handler + 1;
constexpr std::size_t counter_at = 0, mailboxes_at = 4096, block_at = 64 * 1024, block_bytes = 1 << 20;

double microseconds_since(clock_type::time_point start) {
  return std::chrono::duration<double, std::micro>(clock_type::now() - start).count();
}

// Prints one line of the report, on node 0 only.
struct report {
  weft::job& job;
  void line(const char* what, bool right, double value, const char* unit) const {
    if (job.self() == 0) std::printf("  %-52s %s %10.2f %s\n", what, right ? "ok   " : "WRONG", value, unit);
  }
};

template <typename T>
std::span<const std::byte> as_bytes_of(const T& value) {
  return std::as_bytes(std::span<const T, 1>(&value, 1));
}

class tour {
 public:
  explicit tour(weft::job& job) : job_(job), port_(job.port()), report_{job} {
    memory_ = port_.allocate(block_at + block_bytes).or_throw();
    const auto mine = port_.expose(memory_, weft::rights::all).or_throw();
    windows_ = job_.exchange_values(mine);
    queue_ = port_.make_queue().or_throw();
    queues_ = job_.exchange_values(queue_);
    port_.on(greet, [](const weft::message& m) { m.at.send(m.source, weft::lane::reply, answer, m.words).or_throw(); });
    port_.on(answer, [this](const weft::message&) { ++answers_; });
    job_.meet();
  }

  bool run() {
    words();
    counter();
    queue();
    messages();
    blocks();
    return all_right_;
  }

 private:
  std::atomic_ref<weft::word> word_here(std::size_t offset) {
    return std::atomic_ref(*reinterpret_cast<weft::word*>(memory_.base + offset));
  }
  weft::node_id next() const { return (job_.self() + 1) % job_.nodes(); }
  void check(const char* what, bool right, double value, const char* unit) {
    all_right_ &= right;
    report_.line(what, right, value, unit);
    job_.meet();
  }

  // A word goes round the ring of nodes: each waits for it in its own memory and puts it into the next one's.
  void words() {
    constexpr weft::word rounds = 1000;
    const auto start = clock_type::now();
    bool right = true;
    for (weft::word r = 1; r <= rounds; ++r) {
      if (job_.self() != 0 || r > 1) {
        const weft::word expected = job_.self() == 0 ? r - 1 : r;
        right &= port_.wait([&] { return word_here(mailboxes_at).load() == expected; }, 20s).ok();
      }
      port_.put(next(), windows_[next()], mailboxes_at, as_bytes_of(r)).or_throw();
      port_.nudge(next()).or_throw();
    }
    check("put: a word once round all nodes", right, microseconds_since(start) / static_cast<double>(rounds), "us");
  }

  // All nodes add to one word on node 0.
  void counter() {
    constexpr weft::word times = 1000;
    const auto start = clock_type::now();
    for (weft::word i = 0; i < times; ++i) port_.fetch_add(0, windows_[0], counter_at, 1).or_throw();
    const double each = microseconds_since(start) / static_cast<double>(times);
    job_.meet();
    check("fetch_add: all nodes on one word", job_.self() != 0 || word_here(counter_at).load() == times * job_.nodes(), each, "us");
  }

  // All nodes append to a queue on node 0, which takes every word once and each sender's in order.
  void queue() {
    constexpr weft::word times = 10000;
    const auto start = clock_type::now();
    for (weft::word i = 0; i < times; ++i) port_.enqueue(0, queues_[0], weft::word{job_.self()} << 32 | i).or_throw();
    bool right = true;
    if (job_.self() == 0) {
      std::vector<weft::word> expected(job_.nodes(), 0);
      weft::word taken = 0;
      right &= port_.wait([&] { return taken += take_all(expected, right), taken == times * job_.nodes(); }, 20s).ok();
    }
    const double all = static_cast<double>(times) * job_.nodes();
    check("enqueue: all nodes into one queue", right, all / microseconds_since(start), "million words/s");
  }

  weft::word take_all(std::vector<weft::word>& expected, bool& right) {
    weft::word values[64], taken = 0;
    for (auto n = port_.dequeue(queue_, values); n.ok() && *n > 0; n = port_.dequeue(queue_, values)) {
      for (std::size_t i = 0; i < *n; ++i) right &= expected[values[i] >> 32]++ == (values[i] & 0xffffffff);
      taken += *n;
    }
    return taken;
  }

  // Each node calls a handler on the next one, which answers on the reply lane.
  void messages() {
    constexpr int times = 2000;
    const auto start = clock_type::now();
    bool right = true;
    for (int i = 1; i <= times; ++i) {
      const weft::word words[] = {static_cast<weft::word>(i)};
      port_.send(next(), weft::lane::request, greet, words).or_throw();
      right &= port_.wait([&] { return answers_ == i; }, 20s).ok();
    }
    check("send: a message and its answer, all nodes at once", right, microseconds_since(start) / times, "us");
  }

  // Each node puts a megabyte into the next one's memory, again and again, and gets it back.
  void blocks() {
    constexpr int times = 100;
    std::vector<std::byte> block(block_bytes), back(block_bytes);
    for (std::size_t i = 0; i < block.size(); ++i) block[i] = static_cast<std::byte>(i * 31 + job_.self());
    const auto start = clock_type::now();
    for (int i = 0; i < times; ++i) port_.put(next(), windows_[next()], block_at, block).or_throw();
    port_.fence(next()).or_throw();
    const double gigabytes = static_cast<double>(times) * block_bytes / 1e9;
    const double rate = gigabytes / (microseconds_since(start) / 1e6);
    port_.get(next(), windows_[next()], block_at, back).or_throw();
    check("put: a megabyte to the next node, all at once", back == block, rate * job_.nodes(), "GB/s in all");
  }

  weft::job& job_;
  weft::port& port_;
  report report_;
  weft::memory memory_;
  std::vector<weft::window> windows_;
  weft::queue queue_;
  std::vector<weft::queue> queues_;
  std::atomic<int> answers_{0};
  bool all_right_ = true;
};

}  // namespace

int main(int argc, char** argv) {
  weft::job job(argc, argv);
  if (job.self() == 0)
    std::printf("%u node%s on %zu host%s, started by %s, over the %s fabric\n", job.nodes(), job.nodes() == 1 ? "" : "s",
                job.hosts(), job.hosts() == 1 ? "" : "s", job.way().c_str(), job.port().name());
  const bool right = tour(job).run();
  const auto everybody = job.exchange_values(right);
  return std::all_of(everybody.begin(), everybody.end(), [](bool r) { return r; }) ? 0 : 1;
}
