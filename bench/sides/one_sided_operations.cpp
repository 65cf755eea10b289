// Puts, gets, atomics and fences, measured. Bytes are moved by the port itself, or in one of the ways of weft/vmmc.h and weft/active.h.
#include <cstring>

#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "bench/sides/duo.h"
#include "bench/sides/vmmc_side.h"
#include "os/spin.h"

namespace weft::bench {
namespace {

double since(base::nanoseconds start) {
  return static_cast<double>(base::now() - start);
}

void serve(duo& d, std::size_t, std::uint64_t) {
  d.serve();
}

// Until a put of the other node has arrived: by looking at the memory alone where it is stored without this node's help, by waiting
// in the port where not. A one-sided network may bring it without anything that would wake a wait, so that is polled.
void await_word(duo& d, word expected) {
  auto here = d.word_here();
  auto arrived = [&] { return here.load(std::memory_order_acquire) == expected; };  // pairs with the peer's put
  const auto can = d.at().can();
  if (can.mapped)
    while (!arrived()) os::pause();
  else if (can.one_sided)
    while (!arrived()) d.at().poll();
  else
    d.at().wait(arrived, std::chrono::seconds(60)).or_throw();
}

struct by_port {
  static void put(duo& d, bytes what) { d.at().put(d.other(), d.theirs(), 0, what).or_throw(); }
};

struct by_update {
  static void put(duo& d, bytes what) { d.vmmc().theirs().update(0, what).or_throw(); }
};

// SHRIMP 4.3: as if every send needed the kernel.
struct by_update_with_a_call {
  static void put(duo& d, bytes what) {
    ::syscall(SYS_getppid);
    by_update::put(d, what);
  }
};

// SHRIMP 4.4: as if every arrival interrupted the receiver.
struct by_update_and_notification {
  static void put(duo& d, bytes what) { d.vmmc().theirs_that_listens().update_and_notify(0, what).or_throw(); }
};

struct by_transfer {
  static void put(duo& d, bytes what) { d.vmmc().transfer(what); }
};

// Automatic update of mapped memory.
struct by_store {
  static void put(duo& d, bytes what) {
    word value;
    std::memcpy(&value, what.data(), sizeof value);
    // Release, as a program that publishes something stores: after all that it stored before.
    std::atomic_ref(*reinterpret_cast<word*>(d.vmmc().mapped().data())).store(value, std::memory_order_release);
  }
};

template <typename How>
void put_word(duo& d, word value) {
  How::put(d, std::as_bytes(std::span<const word, 1>(&value, 1)));
}

// A word goes to and fro: each node waits for it in its own memory and answers by a put into the other's.
template <typename How>
timing put_ping_pong(duo& d, std::size_t, std::uint64_t count) {
  const auto start = base::now();
  for (std::uint64_t i = 1; i <= count; ++i) {
    put_word<How>(d, i);
    await_word(d, i);
  }
  return {.whole = since(start)};
}

template <typename How>
void put_ping_pong_back(duo& d, std::size_t, std::uint64_t count) {
  for (std::uint64_t i = 1; i <= count; ++i) {
    await_word(d, i);
    put_word<How>(d, i);
  }
}

// The same with one word in the follower's memory: the leader puts and looks through its mapping, the follower puts to itself.
timing put_one_line(duo& d, std::size_t, std::uint64_t count) {
  std::atomic_ref there(*reinterpret_cast<word*>(d.at().mapped(d.other(), d.theirs())));
  const auto start = base::now();
  for (std::uint64_t i = 1; i <= 2 * count; i += 2) {
    put_word<by_port>(d, i);
    while (there.load(std::memory_order_acquire) != i + 1) os::pause();  // pairs with the follower's put
  }
  return {.whole = since(start)};
}

void put_one_line_back(duo& d, std::size_t, std::uint64_t count) {
  for (std::uint64_t i = 1; i <= 2 * count; i += 2) {
    await_word(d, i);
    const word answer = i + 1;
    d.at().put(d.at().self(), d.mine(), 0, std::as_bytes(std::span<const word, 1>(&answer, 1))).or_throw();
  }
}

template <typename How>
timing put_stream(duo& d, std::size_t size, std::uint64_t count) {
  timing t;
  const auto start = base::now();
  for (std::uint64_t i = 0; i < count; ++i) How::put(d, d.block(size));
  t.sending = since(start);
  d.at().fence(d.other()).or_throw();
  t.whole = since(start);
  d.finish();
  return t;
}

// Bursts that fit the buffers: what the caller of put pays in ordinary traffic.
constexpr std::uint64_t burst = 16;

template <typename How>
timing put_bursts(duo& d, std::size_t size, std::uint64_t count) {
  timing t;
  for (std::uint64_t i = 0; i < count / burst; ++i) {
    const auto start = base::now();
    for (std::uint64_t n = 0; n < burst; ++n) How::put(d, d.block(size));
    t.sending += since(start);
    d.at().fence(d.other()).or_throw();
  }
  d.finish();
  return t;
}

template <typename F>
timing repeat(duo& d, std::uint64_t count, F&& once) {
  const auto start = base::now();
  for (std::uint64_t i = 0; i < count; ++i) once();
  const timing t{.whole = since(start)};
  d.finish();
  return t;
}

timing gets(duo& d, std::size_t size, std::uint64_t count) {
  return repeat(d, count, [&] { d.at().get(d.other(), d.theirs(), 0, d.block(size)).or_throw(); });
}

timing fetch_adds(duo& d, std::size_t, std::uint64_t count) {
  return repeat(d, count, [&] { d.at().fetch_add(d.other(), d.theirs(), 0, 1).or_throw(); });
}

timing swaps(duo& d, std::size_t, std::uint64_t count) {
  return repeat(d, count, [&] { d.at().swap(d.other(), d.theirs(), 0, 1).or_throw(); });
}

timing fences(duo& d, std::size_t, std::uint64_t count) {
  return repeat(d, count, [&] { d.at().fence(d.other()).or_throw(); });
}

constexpr operation list[] = {
    {"put_ping_pong", put_ping_pong<by_port>, put_ping_pong_back<by_port>},
    {"put_one_line", put_one_line, put_one_line_back},
    {"put_stream", put_stream<by_port>, serve},
    {"put_bursts", put_bursts<by_port>, serve, burst},
    {"get", gets, serve},
    {"fetch_add", fetch_adds, serve},
    {"swap", swaps, serve},
    {"fence", fences, serve},
};

// The answer to a notification is the handler's.
constexpr operation vmmc_list[] = {
    {"update_ping_pong", put_ping_pong<by_update>, put_ping_pong_back<by_update>},
    {"called_update_ping_pong", put_ping_pong<by_update_with_a_call>, put_ping_pong_back<by_update_with_a_call>},
    {"store_ping_pong", put_ping_pong<by_store>, put_ping_pong_back<by_store>},
    {"update_stream", put_stream<by_update>, serve},
    {"called_update_stream", put_stream<by_update_with_a_call>, serve},
    {"notifying_update_stream", put_stream<by_update_and_notification>, serve},
    {"transfer_put_stream", put_stream<by_transfer>, serve},
    {"transfer_put_bursts", put_bursts<by_transfer>, serve, burst},
};

}  // namespace

std::span<const operation> one_sided_operations() {
  return list;
}
std::span<const operation> one_sided_vmmc_operations() {
  return vmmc_list;
}

}  // namespace weft::bench
