// A node that uses shared memory in the ways that the end-to-end tests ask for.
#include <weft/weft.h>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace {

weft::mutex global_mutex;  // constructed before there is a job, on every node

void check(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "node %u: %s\n", weft::space::here().self(), what);
  std::exit(1);
}

// Everybody writes its part, everybody reads everything, many times.
void shift(weft::job& job, std::size_t words, int rounds) {
  auto a = weft::make_array<std::uint64_t>(words);
  const auto [first, last] = job.share_of(words);
  for (int round = 1; round <= rounds; ++round) {
    for (std::size_t i = first; i < last; ++i) a[i] = i * 1000 + static_cast<std::size_t>(round);
    weft::barrier();
    for (std::size_t i = 0; i < words; i += 7)
      check(a[i] == i * 1000 + static_cast<std::size_t>(round), "a value that nobody wrote");
    weft::barrier();
  }
}

// Neighbouring bytes, each written by another node.
void adjacent(weft::job& job, int rounds) {
  auto a = weft::make_array<unsigned char>(8192);
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = job.self(); i < a.size(); i += job.nodes())
      a[i] = static_cast<unsigned char>(i + static_cast<std::size_t>(round));
    weft::barrier();
    for (std::size_t i = 0; i < a.size(); ++i)
      check(a[i] == static_cast<unsigned char>(i + static_cast<std::size_t>(round)), "a byte that its neighbour's writer lost");
    weft::barrier();
  }
}

void count_under_lock(weft::job& job, int times) {
  auto& m = weft::make<weft::mutex>();
  auto a = weft::make_array<std::uint64_t>(2);
  for (int i = 0; i < times; ++i) {
    {
      std::scoped_lock lock(m);
      ++a[0];
    }
    std::scoped_lock lock(global_mutex);
    a[1] += 2;
  }
  weft::barrier();
  check(a[0] == static_cast<std::uint64_t>(times) * job.nodes(), "a count under a lock that is wrong");
  check(a[1] == 2 * static_cast<std::uint64_t>(times) * job.nodes(), "a count under a global lock that is wrong");
}

template <typename T>
using shared_vector = std::vector<T, weft::allocator<T>>;
template <typename K, typename V>
using shared_map = std::map<K, V, std::less<K>, weft::allocator<std::pair<const K, V>>>;

void containers(weft::job& job) {
  auto& m = weft::make<weft::mutex>();
  auto& map = weft::make<shared_map<int, int>>();
  auto& lists = weft::make<shared_vector<shared_vector<int>>>();
  for (int i = 0; i < 50; ++i) {
    std::scoped_lock lock(m);
    const int key = i * static_cast<int>(job.nodes()) + static_cast<int>(job.self());
    map[key] = key * key;
    lists.emplace_back(static_cast<std::size_t>(key % 10), key);
  }
  weft::barrier();
  check(map.size() == 50 * job.nodes() && lists.size() == map.size(), "a container that has lost elements");
  for (const auto& [key, value] : map) check(value == key * key, "a map with a wrong value");
  for (const auto& list : lists)
    for (int v : list) check(static_cast<std::size_t>(v % 10) == list.size(), "a list with a wrong value");
  weft::barrier();
}

void pipeline(weft::job& job, int items) {
  auto& ready = weft::make<weft::flag>();
  auto& taken = weft::make<weft::counter>();
  auto box = weft::make_array<int>(1000);
  for (int i = 1; i <= items; ++i) {
    if (job.self() == 0) {
      taken.wait_for(static_cast<std::uint64_t>(i - 1) * (job.nodes() - 1));
      for (int& b : box) b = i;
      ready.set(static_cast<std::uint64_t>(i));
    } else {
      ready.wait(static_cast<std::uint64_t>(i));
      for (int b : box) check(b == i, "an item that was not ready");
      taken.fetch_add();
    }
  }
  const auto total = weft::sum(static_cast<double>(job.self()));
  check(total == job.nodes() * (job.nodes() - 1) / 2.0, "a sum that is wrong");
}

void conditions(weft::job& job, int turns) {
  auto& m = weft::make<weft::mutex>();
  auto& changed = weft::make<weft::condition_variable>();
  auto& rw = weft::make<weft::shared_mutex>();
  auto turn = weft::make_array<int>(2);
  for (int i = 0; i < turns; ++i) {
    std::unique_lock lock(m);
    changed.wait(lock, [&] { return turn[0] % static_cast<int>(job.nodes()) == static_cast<int>(job.self()); });
    ++turn[0];
    changed.notify_all();
  }
  for (int i = 0; i < 5; ++i) {
    rw.lock_shared();
    check(turn[1] >= 0, "a writer among readers");
    rw.unlock_shared();
    std::scoped_lock lock(rw);
    turn[1] = -1;
    turn[1] = i + 1;
  }
  weft::barrier();
  check(turn[0] == turns * static_cast<int>(job.nodes()), "a turn that was lost");
}

void threads(weft::job&, std::uint32_t each) {
  auto a = weft::make_array<std::uint32_t>(64 * 1024);
  auto& m = weft::make<weft::mutex>();
  auto total = weft::make_array<std::uint64_t>(1);
  weft::team team(each);
  team.run([&](weft::worker& me) {
    for (std::uint32_t round = 1; round <= 10; ++round) {
      for (std::size_t i = me.rank(); i < a.size(); i += me.size()) a[i] = static_cast<std::uint32_t>(i) + round;
      {
        std::scoped_lock lock(m);
        ++total[0];
      }
      me.barrier();
      for (std::size_t i = 0; i < a.size(); ++i)
        check(a[i] == static_cast<std::uint32_t>(i) + round, "a word of another thread's that is wrong");
      me.barrier();
    }
    const auto ranks = me.sum(static_cast<std::uint64_t>(me.rank()));
    check(ranks == std::uint64_t{me.size()} * (me.size() - 1) / 2, "a sum of ranks that is wrong");
  });
  weft::barrier();
  check(total[0] == 10 * team.workers(), "a count of all threads that is wrong");
}

void reuse(weft::job& job) {
  for (int round = 0; round < 20; ++round) {
    std::vector<char*> mine;
    for (std::size_t size : {1, 24, 100, 1000, 5000, 100'000}) {
      mine.push_back(static_cast<char*>(weft::allocate(size)));
      std::memset(mine.back(), static_cast<int>(job.self()), size);
    }
    auto all = weft::make_array<char*>(mine.size() * job.nodes());
    for (std::size_t i = 0; i < mine.size(); ++i) all[job.self() * mine.size() + i] = mine[i];
    weft::barrier();
    const std::size_t next = (job.self() + 1) % job.nodes();  // everybody frees its neighbour's
    for (std::size_t i = 0; i < mine.size(); ++i) {
      check(*all[next * mine.size() + i] == static_cast<char>(next), "a block of somebody else's that is wrong");
      weft::free(all[next * mine.size() + i]);
    }
    weft::barrier();
  }
}

// Arrays that are placed alike take each other's memory, and find it cleared, whoever has written it.
void reuse_of_placed_arrays(weft::job& job) {
  constexpr std::size_t count = 5'000;
  std::map<weft::placement::rule, void*> before;
  for (int round = 0; round < 4; ++round)
    for (const auto where : {weft::placement::block(), weft::placement::cyclic(), weft::placement::on(job.nodes() - 1)}) {
      auto values = weft::make_array<std::uint64_t>(count, where);
      check(std::all_of(values.begin(), values.end(), [](auto v) { return v == 0; }), "an array that is not cleared");
      check(round == 0 || before[where.by] == values.data(), "memory that is not used again");
      before[where.by] = values.data();
      weft::barrier();
      for (std::size_t i = job.self(); i < count; i += job.nodes()) values[i] = i + 1;
      weft::barrier();
      if (job.self() == 0) weft::free(values.data());
    }
}

// Lines of /proc/self/maps: the kernel allows 65530 unless told otherwise.
std::size_t mappings() {
  std::ifstream maps("/proc/self/maps");
  return static_cast<std::size_t>(std::count(std::istreambuf_iterator<char>(maps), {}, '\n'));
}

// What this process has in memory, in MiB.
std::size_t resident() {
  std::ifstream status("/proc/self/status");
  std::size_t kilobytes = 0;
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmRSS:")) kilobytes = std::stoul(line.substr(6));
  return kilobytes / 1024;
}

// A word in each of a million pages; then every eighth page of the others', so that open and closed pages alternate.
void million(weft::job& job) {
  constexpr std::size_t pages = 1'000'000, words = weft::page_size / sizeof(std::uint64_t);
  auto a = weft::make_array<std::uint64_t>(pages * words, weft::placement::block());
  const auto [first, last] = job.share_of(pages);
  for (std::size_t p = first; p < last; ++p) a[p * words + p % words] = p + 1;
  weft::barrier();
  for (std::size_t p = 0; p < pages; p += p >= first && p < last ? 1 : 8)
    check(a[p * words + p % words] == p + 1, "a word among a million pages that is wrong");
  weft::barrier();
  check(mappings() < 1000, "mappings that grow with the pages");
}

// A hundred GiB, of which a page here and there is used: 150 places, each of which may cost some MiB besides.
void spacious(weft::job& job, std::size_t mib_a_place) {
  constexpr std::size_t gib = std::size_t{1} << 30;
  weft::barrier();
  const std::size_t before = resident();
  const auto started = std::chrono::steady_clock::now();
  auto a = weft::make_array<char>(100 * gib);
  char* alone = static_cast<char*>(weft::allocate(50 * gib));
  check(std::chrono::steady_clock::now() - started < std::chrono::seconds(1), "an allocation that takes long");
  check(resident() < before + 4, "memory that costs before it is touched");
  for (std::size_t g = job.self(); g < 100; g += job.nodes()) a[g * gib + 5] = static_cast<char>(g + 1);
  for (std::size_t g = 0; g < 50; ++g) alone[g * gib] = 1;
  weft::barrier();
  for (std::size_t g = 0; g < 100; ++g) check(a[g * gib + 5] == static_cast<char>(g + 1), "a page of many GiB that is wrong");
  check(resident() < before + 100 + 150 * mib_a_place, "memory that costs more than what is touched");
}

// Memory that is used from end to end is in huge pages, at every node: but for its ends, and for some that the kernel may not have had.
void dense(weft::job& job) {
  auto a = weft::make_array<char>(64 << 20);
  const auto [first, last] = job.share_of(a.size());
  std::fill(a.begin() + first, a.begin() + last, 1);
  weft::barrier();
  check(std::count(a.begin(), a.end(), 1) == std::ssize(a), "memory that is wrong");
  std::ifstream maps("/proc/self/smaps");
  std::size_t kilobytes = 0;
  for (std::string line; std::getline(maps, line);)
    if (line.starts_with("ShmemPmdMapped:")) kilobytes += std::stoul(line.substr(15));
  check(kilobytes >= 48 * 1024, "small pages where there should be huge ones");
}

// Node 1 is killed at the worst moment; the others must end by themselves, each with a sentence that names it.
void die(weft::job& job, const std::string& when) {
  auto& m = weft::make<weft::mutex>();
  auto a = weft::make_array<int>(100'000, weft::placement::on(1));
  if (job.self() == 1) {
    for (int& v : a) v = 1;
    if (when == "holding") m.lock();
  }
  weft::barrier();
  if (job.self() == 1) {
    if (when == "waiting" || when == "fault")
      std::thread([] { ::usleep(200'000), ::kill(::getpid(), SIGKILL); }).detach();
    else
      ::usleep(200'000), ::kill(::getpid(), SIGKILL);
  }
  if (when == "fault" && job.self() == 1) {  // pages that it has never had, one after another: it does nothing else
    auto* far = static_cast<volatile char*>(weft::allocate(std::size_t{64} << 30, weft::page_size, weft::placement::on(0)));
    for (std::size_t at = 0;; at += weft::page_size) static_cast<void>(far[at]);
  }
  if (when == "holding") m.lock();
  if (when == "home")
    for (int round = 0;; ++round) {  // its pages are asked for until it is gone
      long sum = 0;
      for (int v : a) sum += v;
      check(sum == 100'000, "a sum of a dead node's pages that is wrong");
      std::scoped_lock lock(m);
      a[static_cast<std::size_t>(round) * 7919 % a.size()] = 1;
    }
  weft::barrier();
  ::pause();
}

// A mutex goes from node to node so often, without a barrier, and every holder writes.
void hand_over(weft::job& job, std::uint64_t times) {
  auto& m = weft::make<weft::mutex>();
  auto a = weft::make_array<std::uint64_t>(3);  // writes, hand-overs, who was last
  std::uint64_t mine = 0, seen = 0;
  for (bool more = true, again = false; more;) {
    if (again)
      std::this_thread::sleep_for(std::chrono::microseconds(50));  // on few cores it would have the lock hundreds of times in a row
    std::scoped_lock lock(m);
    check(a[0] >= seen, "a count that went back");
    seen = ++a[0];
    ++mine;
    again = a[2] == job.self() + 1;
    if (!again) ++a[1];
    a[2] = job.self() + 1;
    more = a[1] < times;
  }
  check(weft::sum(mine) == a[0], "a count that is not the sum of all writes");
}

}  // namespace

int main(int argc, char** argv) {
  weft::job job(argc, argv);
  const std::string what = argc > 1 ? argv[1] : "all";
  const bool all = what == "all";
  if (all || what == "shift") shift(job, 40'000, 10);
  if (all || what == "adjacent") adjacent(job, 10);
  if (all || what == "count") count_under_lock(job, 200);
  if (all || what == "containers") containers(job);
  if (all || what == "pipeline") pipeline(job, 20);
  if (all || what == "conditions") conditions(job, 10);
  if (all || what == "threads") threads(job, 4);
  if (all || what == "reuse") reuse(job), reuse_of_placed_arrays(job);
  if (what == "million") million(job);
  if (what == "spacious") spacious(job, argc > 2 ? std::stoul(argv[2]) : 0);
  if (what == "dense") dense(job);
  if (what == "handover") hand_over(job, std::stoul(argv[2]));
  if (what == "die") die(job, argv[2]);
  weft::barrier();
  if (job.self() == 0) std::printf("%s: right on %u nodes\n", what.c_str(), job.nodes());
}
