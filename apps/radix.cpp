// radix: sorts unsigned integers digit by digit, from the lowest (SHRIMP Table 1: 2M keys, three passes; ViSMI Table 2: 8M keys;
// the kernel is that of SPLASH-2).
//
// In every pass a worker counts the digits of its contiguous keys; all counts together tell where its keys of each digit go; it
// writes them there. The writes of a pass are scattered over the whole destination, in runs that border on other workers' runs:
// this is the program whose pages many nodes write at once (SHRIMP 4). Keys of a digit are collected and written together; with
// `--one-by-one` each is written by itself when its turn comes, as in SPLASH-2's (SHRIMP 3: a processor's writes to its different sets are
// interleaved).
//
//   weft run -n 4 build/bin/radix --keys 8388608 --verify
#include <weft/weft.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "checksum.h"
#include "options.h"
#include "progress.h"
#include "random.h"
#include "report.h"
#include "shared.h"
#include "timing.h"

namespace {

using key = std::uint32_t;

struct problem {
  std::size_t keys = 8 << 20, key_bits = 30, digit_bits = 10;
  bool one_by_one = false;

  std::size_t digits() const noexcept { return std::size_t{1} << digit_bits; }
  std::size_t passes() const noexcept { return (key_bits + digit_bits - 1) / digit_bits; }
  key digit(key k, std::size_t pass) const noexcept { return static_cast<key>(k >> pass * digit_bits & (digits() - 1)); }
};

key input(const problem& p, std::uint64_t seed, std::size_t i) {
  return static_cast<key>(app::random_bits(seed, i) >> (64 - p.key_bits));
}

// What the workers share. Counts of one worker lie together, on pages of their own.
class sorted_keys {
 public:
  // Together.
  sorted_keys(const problem& p, std::size_t workers)
      : keys_(p.keys),
        count_stride_((p.digits() + counts_a_page - 1) / counts_a_page * counts_a_page),
        even_(p.keys, weft::placement::block()),
        odd_(p.keys, weft::placement::block()),
        counts_(workers * count_stride_, weft::placement::block()) {}

  // The keys before a pass, and where it puts them; after the last pass, source(passes) is the result.
  key* source(std::size_t pass) const noexcept { return (pass % 2 == 0 ? even_ : odd_).data(); }
  key* destination(std::size_t pass) const noexcept { return source(pass + 1); }
  std::uint64_t* counts(std::size_t worker) const noexcept { return counts_.data() + worker * count_stride_; }

  // A worker's keys: whole pages, except where they end.
  std::pair<std::size_t, std::size_t> part_of(const weft::worker& me) const noexcept {
    const auto [first, last] = me.share_of((keys_ + keys_a_page - 1) / keys_a_page);
    return {std::min(first * keys_a_page, keys_), std::min(last * keys_a_page, keys_)};
  }

 private:
  static constexpr std::size_t keys_a_page = weft::page_size / sizeof(key), counts_a_page = weft::page_size / sizeof(std::uint64_t);
  std::size_t keys_, count_stride_;
  app::shared_array<key> even_, odd_;  // by the pass that reads it
  app::shared_array<std::uint64_t> counts_;
};

// Collects a cache line of keys for each digit before it writes them: the destinations are more than the processor's translation
// cache holds, and a line written at once is read from memory once.
class scatter {
 public:
  explicit scatter(std::size_t digits) : lines_(digits), next_(digits) {}

  std::vector<std::uint64_t>& next() noexcept { return next_; }  // by digit: where its next line goes

  void put(key* to, key digit, key value) {
    line& l = lines_[digit];
    l.keys[l.used++] = value;
    if (l.used == line::most) flush(to, digit);
  }
  void finish(key* to) {
    for (key digit = 0; digit < lines_.size(); ++digit) flush(to, digit);
  }

 private:
  struct alignas(64) line {
    static constexpr std::uint32_t most = 15;
    key keys[most];
    std::uint32_t used = 0;
  };
  void flush(key* to, key digit) {
    line& l = lines_[digit];
    std::memcpy(to + next_[digit], l.keys, l.used * sizeof(key));
    next_[digit] += l.used;
    l.used = 0;
  }

  std::vector<line> lines_;
  std::vector<std::uint64_t> next_;
};

// --- one worker's part ---

class sorting {
 public:
  sorting(const problem& p, const sorted_keys& all, weft::worker& me) : p_(p), all_(all), me_(me), scatter_(p.digits()) {}

  void run() {
    app::progress bar(me_, p_.passes());
    for (std::size_t pass = 0; pass < p_.passes(); ++pass) {
      count(pass);
      me_.barrier();
      rank();
      move(pass);
      me_.barrier();
      bar.reached(pass + 1);
    }
  }

 private:
  // In private memory: the shared counts are written once.
  void count(std::size_t pass) {
    std::vector<std::uint64_t> counts(p_.digits());
    const auto [first, last] = all_.part_of(me_);
    const key* keys = all_.source(pass);
    for (std::size_t i = first; i < last; ++i) ++counts[p_.digit(keys[i], pass)];
    std::copy(counts.begin(), counts.end(), all_.counts(me_.rank()));
  }

  // A digit's keys come after all keys of lower digits and after those that lower ranks have of the same. Everybody sums up
  // everybody's counts: a page or two from each worker, which takes less time than a second round of meeting would.
  void rank() {
    std::vector<std::uint64_t> before(p_.digits()), all(p_.digits());
    for (std::uint32_t worker = 0; worker < me_.size(); ++worker) {
      const std::uint64_t* counts = all_.counts(worker);
      if (worker == me_.rank()) before = all;
      for (std::size_t digit = 0; digit < all.size(); ++digit) all[digit] += counts[digit];
    }
    std::uint64_t lower = 0;
    for (std::size_t digit = 0; digit < all.size(); ++digit) {
      scatter_.next()[digit] = lower + before[digit];
      lower += all[digit];
    }
  }

  void move(std::size_t pass) {
    const auto [first, last] = all_.part_of(me_);
    const key* from = all_.source(pass);
    key* to = all_.destination(pass);
    if (p_.one_by_one) {
      auto& next = scatter_.next();
      for (std::size_t i = first; i < last; ++i) to[next[p_.digit(from[i], pass)]++] = from[i];
      return;
    }
    for (std::size_t i = first; i < last; ++i) scatter_.put(to, p_.digit(from[i], pass), from[i]);
    scatter_.finish(to);
  }

  const problem& p_;
  const sorted_keys& all_;
  weft::worker& me_;
  scatter scatter_;
};

std::string difference_from_sequential(const problem& p, std::uint64_t seed, const key* result) {
  std::vector<key> expected(p.keys);
  for (std::size_t i = 0; i < p.keys; ++i) expected[i] = input(p, seed, i);
  std::sort(expected.begin(), expected.end());
  const auto where = std::mismatch(expected.begin(), expected.end(), result).first - expected.begin();
  if (where == static_cast<std::ptrdiff_t>(p.keys)) return {};
  return "key " + std::to_string(where) + " is " + std::to_string(result[where]) + ", not " + std::to_string(expected[where]);
}

app::outcome run(const problem& p, const app::options& o) {
  weft::team team(o.threads);
  const sorted_keys all(p, team.workers());
  app::outcome result;
  team.run([&](weft::worker& me) {
    o.place(me);
    const auto [first, last] = all.part_of(me);
    for (std::size_t i = first; i < last; ++i) all.source(0)[i] = input(p, o.seed, i);
    std::fill(all.destination(0) + first, all.destination(0) + last, key{});  // the memory is there when the clock starts
    sorting mine(p, all, me);
    const double seconds = app::seconds_of(me, [&] { mine.run(); });
    const key* sorted = all.source(p.passes());
    app::checksum own;
    for (std::size_t i = first; i < last; ++i) own.add(i, std::uint64_t{sorted[i]});
    const auto sum = me.sum(own.value());
    if (me.rank() == 0) result = {seconds, app::hexadecimal(sum), o.verify ? difference_from_sequential(p, o.seed, sorted) : ""};
  });
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  weft::job job(argc, argv);
  app::options o("Radix sort of unsigned integers");
  problem p;
  o.number("--keys", p.keys, "how many", {1, std::size_t{1} << 34});
  o.number("--key-bits", p.key_bits, "keys are below two to this power", {1, 32});
  o.number("--digit-bits", p.digit_bits, "bits that are sorted by in one pass", {1, 16});
  o.flag("--one-by-one", p.one_by_one, "write every key by itself, instead of a line of keys at once");
  if (const auto status = o.parse(job, argc, argv)) return *status;
  const auto result = app::repeated(o, [&] { return run(p, o); });
  return app::report(job, o, "radix " + std::to_string(p.keys) + " keys", result);
}
