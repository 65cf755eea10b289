// job: this program as one node of many.
//
//   int main(int argc, char** argv) {
//     weft::job job(argc, argv);
//     std::printf("node %u of %u\n", job.self(), job.nodes());
//   }
//
// Every node runs main. Started by `weft run -n 4 ./program`, by `mpirun` or by `srun`, the nodes find each other; started by itself,
// the program is a job of one. The constructor returns when all nodes have; the destructor lets go of the others when all of them have
// come to theirs, so a node's memory can be reached until the end.
//
// One job object in a program, made and destroyed by the same thread. The constructor throws weft::error; a program that does not
// catch it ends with that one sentence on standard error.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <weft/port.h>

namespace weft {

class job {
 public:
  job();
  // The arguments are left as they are; weft takes its options from the launcher, not from the program's command line.
  job(int argc, char** argv);
  ~job();
  job(const job&) = delete;
  job& operator=(const job&) = delete;

  node_id self() const noexcept;
  node_id nodes() const noexcept;

  // What the nodes talk through.
  weft::port& port() noexcept;

  // How this program was started ("weft run", "PMIx", "alone"), over which fabric, and on how many hosts.
  std::string way() const;
  std::size_t hosts() const noexcept;

  // Collective: every node gives some bytes and gets everybody's, by node. For setting up; the fabric is for the rest.
  std::vector<std::vector<std::byte>> exchange(bytes mine);

  // The same for plain values: how nodes tell each other their windows and queues.
  template <typename T>
  std::vector<T> exchange_values(const T& mine) {
    static_assert(std::is_trivially_copyable_v<T>);
    std::vector<T> all;
    for (const auto& b : exchange(std::as_bytes(std::span<const T, 1>(&mine, 1)))) {
      T value;
      std::memcpy(&value, b.data(), sizeof value);
      all.push_back(value);
    }
    return all;
  }

  // Collective: nobody returns before all have called.
  void meet() { exchange({}); }

  // This node's part of [0, count): the first and one past the last.
  std::pair<std::size_t, std::size_t> share_of(std::size_t count) const noexcept {
    const std::size_t n = nodes(), i = self();
    return {count * i / n, count * (i + 1) / n};
  }

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace weft
