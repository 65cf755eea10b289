#include "bench/sides/crowd.h"

#include <algorithm>
#include <cstring>

#include <sched.h>

#include "base/clock.h"
#include "base/text.h"

namespace weft::bench {
namespace {

constexpr std::size_t most_words = std::size_t{1} << 19;                                    // of all senders in one run
constexpr std::size_t lock_at = 0, tail_at = 8, flags_at = 16, words_at = 512, a_line = 8;  // in words
constexpr unsigned batches_a_sample = 8;
constexpr std::uint64_t no_more_orders = ~std::uint64_t{0};

bytes as_bytes(const word& value) {
  return std::as_bytes(std::span<const word, 1>(&value, 1));
}
void put(crowd& c, node_id node, std::size_t at, word value) {
  c.at().put(node, c.window_of(node), at * sizeof(word), as_bytes(value)).or_throw();
}
std::atomic_ref<word> here(crowd& c, std::size_t at) {
  return std::atomic_ref(c.word_here(at));
}

// --- remote enqueue -----------------------------------------------------------------------------------------------------------------

void enqueue(crowd& c, std::uint64_t count) {
  for (std::uint64_t i = 1; i <= count; ++i) c.at().enqueue(0, c.their_queue(), i).or_throw();
}

void dequeue(crowd& c, std::uint64_t all) {
  word values[256];
  std::uint64_t taken = 0;
  c.until([&] {
    // A failure says that the bound was reached; the words come all the same.
    for (auto n = c.at().dequeue(c.their_queue(), values); !n.ok() || *n > 0; n = c.at().dequeue(c.their_queue(), values))
      taken += n.ok() ? *n : 0;
    return taken == all;
  });
}

// --- a place by fetch_add, then a put -------------------------------------------------------------------------------------------------

void fetch_add_put(crowd& c, std::uint64_t count) {
  for (std::uint64_t i = 1; i <= count; ++i) {
    const word place = c.at().fetch_add(0, c.window_of(0), tail_at * sizeof(word), 1).or_throw();
    put(c, 0, words_at + place, i);
  }
}

// Words are filled in the order of their places, more or less.
void take_in_order(crowd& c, std::uint64_t all) {
  for (std::uint64_t taken = 0; taken < all;)
    c.until([&] {
      while (taken < all && here(c, words_at + taken).load(std::memory_order_acquire) != 0)
        ++taken;  // pairs with the senders' puts
      return taken == all;
    });
}

// --- a lock around tail and place -----------------------------------------------------------------------------------------------------

void put_under_lock(crowd& c, std::uint64_t count) {
  const auto& w = c.window_of(0);
  for (std::uint64_t i = 1; i <= count; ++i) {
    c.until([&] { return c.at().compare_swap(0, w, lock_at * sizeof(word), 0, 1).or_throw() == 0; });
    word tail = 0;
    c.at().get(0, w, tail_at * sizeof(word), std::as_writable_bytes(std::span(&tail, 1))).or_throw();
    put(c, 0, words_at + tail, i);
    put(c, 0, tail_at, tail + 1);
    put(c, 0, lock_at, 0);
  }
}

// --- a flag for each sender -----------------------------------------------------------------------------------------------------------

// The sender's own memory says how much of it the consumer has taken.
void raise_flag(crowd& c, std::uint64_t count) {
  for (std::uint64_t i = 1; i <= count; ++i) {
    put(c, 0, flags_at + c.sender() * a_line, i);
    c.until([&] { return here(c, flags_at).load(std::memory_order_acquire) == i; });  // pairs with the consumer's put
  }
}

void look_at_flags(crowd& c, std::uint64_t all) {
  std::vector<word> seen(c.senders(), 0);
  std::uint64_t taken = 0;
  c.until([&] {
    for (node_id s = 0; s < c.senders(); ++s) {
      const word flag = here(c, flags_at + s * a_line).load(std::memory_order_acquire);  // pairs with the sender's put
      if (flag == seen[s]) continue;
      seen[s] = flag;
      ++taken;
      put(c, s + 1, flags_at, flag);
    }
    return taken == all;
  });
}

struct way {
  const char* name;
  void (*send)(crowd& c, std::uint64_t count);
  void (*take)(crowd& c, std::uint64_t all);
  std::uint64_t
      least;  // words of a sender in one run over mapped memory: so many that losing a core for a moment is not most of it
};

constexpr way ways[] = {
    {"enqueue_word", enqueue, dequeue, 32768},
    {"fetch_add_put_word", fetch_add_put, take_in_order, 32768},
    {"flag_word", raise_flag, look_at_flags, 512},
    {"locked_word", put_under_lock, take_in_order, 4096},
};

}  // namespace

crowd::crowd(job& all)
    : port_(all.port()), shared_(all), memory_(port_.allocate((words_at + most_words) * sizeof(word)).or_throw()) {
  std::memset(memory_.base, 0, memory_.size);
  windows_ = all.exchange_values(port_.expose(memory_, rights::all).or_throw());
  queues_ = all.exchange_values(port_.make_queue().or_throw());
}

void crowd::until(condition holds) {
  const auto start = base::now();
  for (std::uint64_t turn = 1; !holds(); ++turn) {
    if (port_.can().mapped || !port_.poll()) ::sched_yield();  // mapped: what is waited for comes by itself
    if (turn % 65536 == 0 && base::now() - start > 60 * base::second)
      throw error(errc::timed_out, "a sender or the consumer does not come");
  }
}

double crowd::run(std::size_t which, std::uint64_t count) {
  std::memset(memory_.base, 0, memory_.size);
  shared_->operation = which;
  shared_->count = count;
  shared_.meet();
  const auto start = base::now();
  ways[which].take(*this, count * senders());
  const auto took = static_cast<double>(base::now() - start);
  shared_.meet();
  return took;
}

void crowd::obey() {
  while (true) {
    std::memset(memory_.base, 0, memory_.size);
    shared_.meet();
    if (shared_->operation == no_more_orders) return;
    ways[shared_->operation].send(*this, shared_->count);
    port_.fence(0).or_throw();
    shared_.meet();
  }
}

// As many as take so long, and as fit. The best of three, because senders that have no core for a moment would be taken for slow ones.
std::uint64_t crowd::calibrate(std::size_t which, double wanted) {
  std::uint64_t count = port_.can().mapped ? ways[which].least : 64;
  while (count * 2 * senders() <= most_words) {
    double best = run(which, count);
    for (int again = 0; again < 2 && best < wanted; ++again) best = std::min(best, run(which, count));
    if (best >= wanted / 2) break;
    count *= 2;
  }
  return count;
}

measurements crowd::measure(const settings& how, const std::function<void(const item&)>& step) {
  measurements found;
  if (port_.self() != 0) {
    obey();
    return found;
  }
  std::vector<std::uint64_t> counts;
  for (std::size_t w = 0; w < std::size(ways); ++w) counts.push_back(calibrate(w, static_cast<double>(how.sample) / 2));
  for (unsigned r = 0; r < how.repeat; ++r) {
    std::vector<measurement> batches(std::size(ways));
    for (std::size_t w = 0; w < std::size(ways); ++w) step({port_.name(), ways[w].name, senders(), senders(), {}});
    for (unsigned b = 0; b < (how.quick ? 1 : batches_a_sample); ++b)
      for (std::size_t w = 0; w < std::size(ways); ++w)
        batches[w].samples.push_back(run(w, counts[w]) / static_cast<double>(counts[w] * senders()));
    for (std::size_t w = 0; w < std::size(ways); ++w) found.add(port_.name(), ways[w].name, senders(), "ns", batches[w].median());
  }
  shared_->operation = no_more_orders;
  shared_.meet();
  return found;
}

}  // namespace weft::bench
