// Active messages and queues, measured: round trips, bursts that fit the buffers (LogP's overheads) and streams that do not. Messages are
// sent by the port itself, or as typed calls (weft/active.h) that do the same on the other side.
#include <string_view>

#include "base/clock.h"
#include "bench/sides/duo.h"
#include "bench/sides/vmmc_side.h"

namespace weft::bench {
namespace {

constexpr std::uint64_t burst = 64, put_burst = 16;  // in one go

// As many of a burst as the fabric buffers while the receiver does nothing: ofi may have no more than eight frames left of a lane.
std::uint64_t that_fit(duo& d, std::uint64_t wanted) {
  return d.at().name() == std::string_view("ofi") ? 4 : wanted;
}

double since(base::nanoseconds start) {
  return static_cast<double>(base::now() - start);
}

void serve(duo& d, std::size_t, std::uint64_t) {
  d.serve();
}

struct bare {
  static void ping(duo& d, lane l, const message_shape& s) { d.send(l, message_station::ping, s); }
  static void count(duo& d, lane l, const message_shape& s) { d.send(l, message_station::count, s); }
  static void take(duo& d, lane l, const message_shape& s) { d.send(l, message_station::take, s); }
};

struct typed {
  static void ping(duo& d, lane l, const message_shape& s) {
    d.vmmc().typed(s, [&](const auto& calls, const auto& words) { vmmc_side::call(calls.ping, d.other(), l, words); });
  }
  static void count(duo& d, lane l, const message_shape& s) {
    d.vmmc().typed(s, [&](const auto& calls, const auto& words) { vmmc_side::call(calls.count, d.other(), l, words); });
  }
  static void take(duo& d, lane l, const message_shape& s) {
    d.vmmc().typed(s, [&](const auto& calls, const auto& words) { vmmc_side::call(calls.take, d.other(), l, words); });
  }
};

template <lane L, typename How>
timing round_trip(duo& d, std::size_t size, std::uint64_t count) {
  const auto shape = d.shape(size);
  const auto start = base::now();
  for (std::uint64_t i = 1; i <= count; ++i) {
    How::ping(d, L, shape);
    d.wait_for_pongs(i);
  }
  const timing t{.whole = since(start)};
  d.finish();
  return t;
}

// Many messages one way, more than any buffer holds: the follower answers the last one.
template <lane L, typename How>
timing stream(duo& d, std::size_t size, std::uint64_t count) {
  const auto shape = d.shape(size);
  timing t;
  const auto start = base::now();
  for (std::uint64_t i = 0; i < count; ++i) How::count(d, L, shape);
  t.sending = since(start);
  d.wait_for_pongs(1);
  t.whole = since(start);
  d.finish();
  return t;
}

// Bursts to a follower that handles them as they come: what the sender's calls cost in ordinary traffic.
template <lane L, typename How>
timing send_bursts(duo& d, std::size_t size, std::uint64_t count) {
  const auto shape = d.shape(size);
  const auto in_one = that_fit(d, burst);
  timing t;
  for (std::uint64_t i = 1; i <= count / in_one; ++i) {
    const auto start = base::now();
    for (std::uint64_t n = 0; n < in_one; ++n) How::take(d, L, shape);
    t.sending += since(start);
    d.send(L, message_station::mark, {});
    d.wait_for_pongs(i);
  }
  d.finish();
  return t;
}

// Bursts that pile up at the follower, which then handles them in one go. `each` sends one of a burst.
template <lane L, typename F>
timing held_bursts(duo& d, std::uint64_t count, std::uint64_t in_one, F&& each) {
  timing t;
  auto& shared = d.shared();
  for (std::uint64_t i = 1; i <= count / in_one; ++i) {
    message_shape hold;
    hold.words[0] = i;
    d.send(L, message_station::hold, hold);
    while (shared->holding.value.load() != i) d.at().poll();
    const auto start = base::now();
    for (std::uint64_t n = 0; n < in_one; ++n) each();
    t.sending += since(start);
    d.send(L, message_station::mark, {});
    shared->released.value.store(i);
    d.wait_for_pongs(i);
  }
  shared->holding.value.store(0);
  shared->released.value.store(0);
  d.finish();
  return t;
}

template <lane L, typename How>
timing held_sends(duo& d, std::size_t size, std::uint64_t count) {
  const auto shape = d.shape(size);
  return held_bursts<L>(d, count, that_fit(d, burst), [&] { How::take(d, L, shape); });
}

timing held_puts(duo& d, std::size_t size, std::uint64_t count) {
  return held_bursts<lane::request>(d, count, put_burst, [&] { d.at().put(d.other(), d.theirs(), 0, d.block(size)).or_throw(); });
}

timing enqueue(duo& d, std::size_t, std::uint64_t count) {
  timing t;
  const auto start = base::now();
  for (std::uint64_t i = 0; i < count; ++i) d.at().enqueue(d.other(), d.their_queue(), i).or_throw();
  t.sending = since(start);
  d.wait_for_pongs(1);
  t.whole = since(start);
  return t;
}

void dequeue(duo& d, std::size_t, std::uint64_t count) {
  word values[256];
  std::uint64_t taken = 0;
  d.at()
      .wait(
          [&] {
            // A failure says that the bound was reached; the words come all the same.
            for (auto n = d.at().dequeue(d.my_queue(), values); !n.ok() || *n > 0; n = d.at().dequeue(d.my_queue(), values))
              taken += n.ok() ? *n : 0;
            return taken == count;
          },
          std::chrono::seconds(60))
      .or_throw();
  d.send(lane::reply, message_station::pong, {});
}

constexpr operation list[] = {
    {"round_trip", round_trip<lane::request, bare>, serve},
    {"round_trip_reply", round_trip<lane::reply, bare>, serve},
    {"stream", stream<lane::request, bare>, serve},
    {"stream_reply", stream<lane::reply, bare>, serve},
    {"send_bursts", send_bursts<lane::request, bare>, serve, burst},
    {"send_bursts_reply", send_bursts<lane::reply, bare>, serve, burst},
    {"held_sends", held_sends<lane::request, bare>, serve, burst},
    {"held_sends_reply", held_sends<lane::reply, bare>, serve, burst},
    {"held_puts", held_puts, serve, put_burst},
    {"enqueue", enqueue, dequeue},
};

constexpr operation typed_list[] = {
    {"typed_round_trip", round_trip<lane::request, typed>, serve},
    {"typed_round_trip_reply", round_trip<lane::reply, typed>, serve},
    {"typed_stream", stream<lane::request, typed>, serve},
    {"typed_stream_reply", stream<lane::reply, typed>, serve},
    {"typed_send_bursts", send_bursts<lane::request, typed>, serve, burst},
    {"typed_send_bursts_reply", send_bursts<lane::reply, typed>, serve, burst},
    {"typed_held_sends", held_sends<lane::request, typed>, serve, burst},
    {"typed_held_sends_reply", held_sends<lane::reply, typed>, serve, burst},
};

}  // namespace

std::span<const operation> message_operations() {
  return list;
}
std::span<const operation> typed_message_operations() {
  return typed_list;
}

}  // namespace weft::bench
