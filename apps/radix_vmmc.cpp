// Radix-VMMC (SHRIMP, section 3): an integer radix sort that distributes its keys by automatic update, straight into the arrays of the
// other nodes, or by deliberate update, gathered into one large transfer for each node and scattered there.
//
//   weft run -n 4 radix_vmmc [--keys 2000000] [--by both|automatic|deliberate] [--automatic] [--way automatic|mapped|tracked|doubled]
//                            [--system-call] [--notify]
//
// --automatic is --by automatic.
//
// The result is checked against std::sort. --system-call makes one for every deliberate update and --notify has each run a handler at the
// receiver: what SHRIMP's sections 4.3 and 4.4 ask about.
#include <weft/weft.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <sys/syscall.h>
#include <unistd.h>

namespace {

using key = weft::word;  // a word: two nodes never write into the same one
using clock_type = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr unsigned digit_bits = 10, passes = 3;
constexpr std::size_t radix = std::size_t{1} << digit_bits;

struct options {
  std::size_t keys = 2'000'000;
  bool automatic = true, deliberate = true, system_call = false, notify = false;
  weft::update_way way = weft::update_way::automatic;
};

std::size_t digit_of(key k, unsigned pass) {
  return k >> (pass * digit_bits) & (radix - 1);
}

// The keys of the whole job; every node makes its own part of them. No key is 0: a store of what is there already does not travel.
std::vector<key> make_keys(std::size_t count) {
  std::mt19937_64 random(1998);
  std::vector<key> all(count);
  for (key& k : all) k = 1 + random() % ((key{1} << (passes * digit_bits)) - 1);
  return all;
}

// Nodes meet by updates of flags in each other's memory: in round r each tells the one 2^r further.
class barrier {
 public:
  barrier(weft::job& job, weft::vmmc& vmmc) : job_(job), vmmc_(vmmc), memory_(job.port().allocate(4096).or_throw()) {
    mine_ = vmmc.export_memory("barrier", memory_).or_throw();
    for (weft::node_id n = 0; n < job.nodes(); ++n) theirs_.push_back(vmmc.import_memory(n, "barrier").or_throw());
  }

  // Everything that was sent before has arrived everywhere.
  void meet() {
    for (weft::node_id n = 0; n < job_.nodes(); ++n) vmmc_.fence(n).or_throw();
    ++turn_;
    for (weft::node_id step = 1, round = 0; step < job_.nodes(); step *= 2, ++round) {
      const weft::node_id to = (job_.self() + step) % job_.nodes();
      theirs_[to].update_value(round * sizeof(weft::word), turn_).or_throw();
      job_.port().nudge(to).or_throw();
      std::atomic_ref flag(reinterpret_cast<weft::word*>(memory_.base)[round]);
      job_.port().wait([&] { return flag.load(std::memory_order_acquire) >= turn_; }, 60s).or_throw();
    }
  }

 private:
  weft::job& job_;
  weft::vmmc& vmmc_;
  weft::memory memory_;
  weft::exported mine_;
  std::vector<weft::imported> theirs_;
  weft::word turn_ = 0;
};

class radix_sort {
 public:
  radix_sort(weft::job& job, weft::vmmc& vmmc, const options& how)
      : job_(job), vmmc_(vmmc), how_(how), barrier_(job, vmmc), capacity_((how.keys + job.nodes() - 1) / job.nodes() + 1) {
    const std::size_t nodes = job.nodes();
    arrays_ = expose("arrays", (passes + 1) * capacity_ * sizeof(key), their_arrays_);
    histograms_ = expose("histograms", nodes * radix * sizeof(weft::word), their_histograms_);
    inbox_ = expose("inbox", nodes * capacity_ * sizeof(key), their_inbox_);
    outbox_ = job.port().allocate(capacity_ * sizeof(key)).or_throw();
  }

  // Sorts; returns the seconds that it took.
  double run(const std::vector<key>& all, bool automatic) {
    const auto [first, last] = job_.share_of(all.size());
    std::memset(arrays_.base, 0, arrays_.size);
    std::copy(all.begin() + static_cast<std::ptrdiff_t>(first), all.begin() + static_cast<std::ptrdiff_t>(last), array(0));
    if (automatic) bind();
    barrier_.meet();
    const auto start = clock_type::now();
    for (unsigned pass = 0; pass < passes; ++pass) {
      share_histograms(pass, last - first);
      if (automatic)
        store_keys(pass, last - first);
      else
        send_keys(pass, last - first);
      barrier_.meet();
      if (!automatic) scatter_inbox(pass);
      barrier_.meet();
    }
    const double seconds = std::chrono::duration<double>(clock_type::now() - start).count();
    bound_.clear();
    return seconds;
  }

  // On node 0: whether what all nodes have is what std::sort makes of the keys.
  bool check(std::vector<key> all) {
    std::sort(all.begin(), all.end());
    bool right = true;
    for (weft::node_id n = 0; n < job_.nodes(); ++n) {
      const std::size_t from = all.size() * n / job_.nodes(), to = all.size() * (n + 1) / job_.nodes();
      std::vector<key> theirs(to - from);
      their_arrays_[n].fetch(passes * capacity_ * sizeof(key), std::as_writable_bytes(std::span(theirs))).or_throw();
      right &= std::equal(theirs.begin(), theirs.end(), all.begin() + static_cast<std::ptrdiff_t>(from));
    }
    return right;
  }

  const char* way() const { return way_; }
  std::size_t updates() const { return updates_; }

 private:
  struct place {
    weft::node_id node;
    std::size_t index;
  };

  weft::memory expose(const char* name, std::size_t size, std::vector<weft::imported>& theirs) {
    const auto memory = job_.port().allocate(size).or_throw();
    exports_.push_back(vmmc_.export_memory(name, memory, {.on_notification = [](const weft::notification&) {}}).or_throw());
    for (weft::node_id n = 0; n < job_.nodes(); ++n) theirs.push_back(vmmc_.import_memory(n, name).or_throw());
    return memory;
  }

  key* array(unsigned which) { return reinterpret_cast<key*>(arrays_.base) + which * capacity_; }
  std::span<weft::word> histogram_of(weft::node_id node) {
    return {reinterpret_cast<weft::word*>(histograms_.base) + node * radix, radix};
  }

  // Which node has the key at a place in the sorted order, and where.
  place place_of(std::size_t position) const {
    auto node = static_cast<weft::node_id>(position * job_.nodes() / how_.keys);
    while (how_.keys * (node + 1) / job_.nodes() <= position) ++node;
    while (how_.keys * node / job_.nodes() > position) --node;
    return {node, position - how_.keys * node / job_.nodes()};
  }

  void bind() {
    bound_.resize(job_.nodes());
    for (weft::node_id n = 0; n < job_.nodes(); ++n)
      if (n != job_.self())
        bound_[n] =
            vmmc_.bind(their_arrays_[n], capacity_ * sizeof(key), passes * capacity_ * sizeof(key), {.way = how_.way}).or_throw();
    if (job_.nodes() > 1) way_ = weft::to_string(bound_[job_.self() == 0 ? 1 : 0].way());
  }

  void send(const weft::imported& to, std::size_t offset, std::span<const key> what) {
    if (what.empty()) return;
    ++updates_;
    if (how_.system_call) ::syscall(SYS_getppid);
    if (how_.notify)
      to.update_and_notify(offset, std::as_bytes(what)).or_throw();
    else
      to.update(offset, std::as_bytes(what)).or_throw();
  }

  void share_histograms(unsigned pass, std::size_t mine) {
    std::vector<weft::word> counts(radix, 0);
    for (const key* k = array(pass); k < array(pass) + mine; ++k) ++counts[digit_of(*k, pass)];
    for (const auto& there : their_histograms_) send(there, job_.self() * radix * sizeof(weft::word), counts);
    barrier_.meet();
  }

  // Where in the sorted order a node's keys with each digit begin.
  std::vector<std::size_t> positions_of(weft::node_id node) {
    std::vector<std::size_t> first(radix);
    std::size_t position = 0;
    for (std::size_t d = 0; d < radix; ++d)
      for (weft::node_id n = 0; n < job_.nodes(); ++n) {
        if (n == node) first[d] = position;
        position += histogram_of(n)[d];
      }
    return first;
  }

  // The first position of a node's keys in the sorted order.
  std::size_t begin_of(weft::node_id node) const { return how_.keys * node / job_.nodes(); }

  // Where the next key of some digit goes, and how many more go behind it on the same node.
  struct cursor {
    key* at;
    std::size_t left;
  };
  cursor cursor_at(std::size_t position, std::span<key* const> target) const {
    if (position >= how_.keys) return {nullptr, 0};  // of a digit that no key has
    const auto [node, index] = place_of(position);
    return {target[node] + index, begin_of(node + 1) - position};
  }

  // Straight into the arrays of the nodes that the keys belong to.
  void store_keys(unsigned pass, std::size_t mine) {
    std::vector<key*> target(job_.nodes());
    for (weft::node_id n = 0; n < job_.nodes(); ++n)
      target[n] = n == job_.self() ? array(pass + 1) : reinterpret_cast<key*>(bound_[n].memory().data()) + pass * capacity_;
    auto position = positions_of(job_.self());
    std::vector<cursor> next(radix);
    for (std::size_t d = 0; d < radix; ++d) next[d] = cursor_at(position[d], target);
    for (const key* k = array(pass); k < array(pass) + mine; ++k) {
      const std::size_t d = digit_of(*k, pass);
      *next[d].at++ = *k;
      ++position[d];
      if (--next[d].left == 0) next[d] = cursor_at(position[d], target);
    }
  }

  // One transfer for each node: sorted by their digits, the keys for one node lie together. It finds out from the histograms where they
  // belong.
  void send_keys(unsigned pass, std::size_t mine) {
    key* const sorted = reinterpret_cast<key*>(outbox_.base);
    std::vector<std::size_t> next(radix, 0);
    const auto counts = histogram_of(job_.self());
    for (std::size_t d = 1; d < radix; ++d) next[d] = next[d - 1] + counts[d - 1];
    for (const key* k = array(pass); k < array(pass) + mine; ++k) sorted[next[digit_of(*k, pass)]++] = *k;
    const auto positions = positions_of(job_.self());
    std::size_t sent = 0;
    for (weft::node_id n = 0; n < job_.nodes(); ++n) {
      std::size_t some = 0;
      for (std::size_t d = 0; d < radix; ++d) some += run_on(n, positions[d], counts[d]).count;
      send(their_inbox_[n], job_.self() * capacity_ * sizeof(key), {sorted + sent, some});
      sent += some;
    }
  }

  // The part of a run of positions that belongs to a node.
  struct piece {
    std::size_t first, count;  // from the node's own first position on
  };
  piece run_on(weft::node_id node, std::size_t position, std::size_t count) const {
    const std::size_t first = std::max(position, begin_of(node)), last = std::min(position + count, begin_of(node + 1));
    return first < last ? piece{first - begin_of(node), last - first} : piece{0, 0};
  }

  void scatter_inbox(unsigned pass) {
    for (weft::node_id source = 0; source < job_.nodes(); ++source) {
      const key* k = reinterpret_cast<const key*>(inbox_.base) + source * capacity_;
      const auto positions = positions_of(source);
      for (std::size_t d = 0; d < radix; ++d) {
        const piece run = run_on(job_.self(), positions[d], histogram_of(source)[d]);
        std::copy(k, k + run.count, array(pass + 1) + run.first);
        k += run.count;
      }
    }
  }

  weft::job& job_;
  weft::vmmc& vmmc_;
  const options how_;
  barrier barrier_;
  const std::size_t capacity_;  // keys of one array
  weft::memory arrays_, histograms_, inbox_, outbox_;
  std::vector<weft::exported> exports_;
  std::vector<weft::imported> their_arrays_, their_histograms_, their_inbox_;
  std::vector<weft::binding> bound_;
  const char* way_ = "local";
  std::size_t updates_ = 0;
};

[[noreturn]] void explain() {
  std::fputs(
      "radix_vmmc [--keys N] [--by both|automatic|deliberate] [--automatic] [--way automatic|mapped|tracked|doubled] "
      "[--system-call] "
      "[--notify]\n",
      stderr);
  std::exit(64);
}

weft::update_way way_called(const std::string& name) {
  for (const auto way :
       {weft::update_way::automatic, weft::update_way::mapped, weft::update_way::tracked, weft::update_way::doubled})
    if (name == weft::to_string(way)) return way;
  explain();
}

options parse(int argc, char** argv) {
  options o;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--system-call")
      o.system_call = true;
    else if (word == "--notify")
      o.notify = true;
    else if (word == "--automatic")
      o.automatic = true, o.deliberate = false;
    else if (i + 1 == argc)
      explain();
    else if (word == "--keys")
      o.keys = std::strtoull(argv[++i], nullptr, 10);
    else if (word == "--way")
      o.way = way_called(argv[++i]);
    else if (word == "--by") {
      const std::string by = argv[++i];
      if (by != "both" && by != "automatic" && by != "deliberate") explain();
      o.automatic = by != "deliberate";
      o.deliberate = by != "automatic";
    } else
      explain();
  }
  if (o.keys == 0) explain();
  return o;
}

}  // namespace

int main(int argc, char** argv) {
  const auto how = parse(argc, argv);
  weft::job job(argc, argv);
  weft::vmmc vmmc(job);
  bool right = true;
  {
    radix_sort sort(job, vmmc, how);
    const auto keys = make_keys(how.keys);
    job.meet();
    for (const bool automatic : {true, false}) {
      if (!(automatic ? how.automatic : how.deliberate)) continue;
      const double seconds = sort.run(keys, automatic);
      job.meet();
      if (job.self() == 0) {
        const bool fine = sort.check(keys);
        right &= fine;
        std::printf("%zu keys, %u nodes, %s update%s%s%s: %.3f s, %s\n", how.keys, job.nodes(),
                    automatic ? "automatic" : "deliberate", automatic ? " (" : "", automatic ? sort.way() : "",
                    automatic ? ")" : "", seconds, fine ? "sorted" : "NOT SORTED");
      }
      job.meet();
    }
  }
  return right ? 0 : 1;
}
