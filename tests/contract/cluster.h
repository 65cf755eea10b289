// A small job for tests: forks one process a node, brings the fabric up in each, runs a body there, and fails the test when a node
// fails an expectation, crashes, or does not end in time. The nodes meet through a page of shared memory, not through the fabric
// under test.
//
// Where the environment variable WEFT_TEST_HOSTS names network namespaces, as in "a,b,c,d", each node runs in one of them, in turn, and
// the job is one of several hosts.
#pragma once

#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "fabric/fabric.h"
#include "os/futex.h"

namespace weft::test {

struct setup {
  std::string fabric;
  std::string provider;  // of ofi
  std::string impair;    // of udp
  node_id nodes = 2;
  std::function<void(node_id self, std::vector<base::byte_buffer>& cards)> edit_cards = {};  // what a node is told about the others
  std::string narrowed = {};  // of ofi: what it does without (WEFT_OFI)
  std::function<void()> meanwhile =
      {};  // what the test itself does once the nodes run; threads belong here, because nodes are forked

  std::string label() const;  // usable in a test's name
  friend void PrintTo(const setup& s, std::ostream* out) { *out << s.label(); }
};

// An impairment with all kinds of faults.
inline constexpr const char* every_fault = "loss=5%,dup=2%,reorder=5%,corrupt=1%";

// How long a node may be silent in these tests: those that lose one wait this long for it.
inline constexpr std::chrono::milliseconds dead_after(1500);

// Where the nodes of a test meet: a barrier, and a table that each can write a few KiB into.
class meeting {
 public:
  static constexpr std::size_t note_bytes = 8192;

  static meeting* create(node_id nodes);
  static void destroy(meeting* m);

  void barrier();
  // Without this node: for tests in which nodes are lost.
  void leave() {
    expected_.fetch_sub(1);
    arrive_if_complete();
  }

  // Collective: everybody's value, by node.
  template <typename T>
  std::vector<T> gather(node_id self, const T& mine) {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= note_bytes);
    std::memcpy(notes() + self * note_bytes, &mine, sizeof mine);
    barrier();
    std::vector<T> all(nodes_);
    for (node_id n = 0; n < nodes_; ++n) std::memcpy(&all[n], notes() + n * note_bytes, sizeof(T));
    barrier();
    return all;
  }
  std::vector<base::byte_buffer> gather_bytes(node_id self, base::byte_view mine);

  // A word of scratch that all nodes share.
  std::atomic<std::uint64_t>& word(std::size_t i) { return words_[i]; }

 private:
  std::byte* notes() { return reinterpret_cast<std::byte*>(this + 1); }
  void arrive_if_complete();

  node_id nodes_;
  std::atomic<std::uint32_t> expected_;
  std::atomic<std::uint32_t> arrived_;
  os::futex_word generation_;
  std::atomic<std::uint64_t> words_[64];
};

using body = std::function<void(fabric::fabric& port, meeting& where)>;

// `lost` are nodes whose end, however it comes, is part of the test.
void run_on_nodes(const setup& what, const body& run, const std::set<node_id>& lost = {});

// Ends a node that is among the lost, as a crash does. The processes of libfabric's shm provider share spin locks, and one that dies inside
// takes its peers along: weft chooses that provider on demand only, and a node that uses it is outside when it dies here.
[[noreturn]] void die(const setup& what, fabric::fabric& port);

// Bytes to send, and whether they came. What is compiled as tests are takes long over every byte: these take eight, and more, at a time.
std::vector<std::byte> pattern(std::uint64_t seed, std::size_t size);
bool same(bytes a, bytes b);

fabric::fabric_options options_for(const setup& what, node_id self);

}  // namespace weft::test
