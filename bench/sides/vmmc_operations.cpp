// Automatic against deliberate update, asynchronous updates, and what an enqueue waits for.
#include <cstring>

#include "base/clock.h"
#include "bench/sides/duo.h"
#include "bench/sides/vmmc_side.h"

namespace weft::bench {
namespace {

constexpr std::size_t MiB = std::size_t{1} << 20;

double since(base::nanoseconds start) {
  return static_cast<double>(base::now() - start);
}

void serve(duo& d, std::size_t, std::uint64_t) {
  d.serve();
}

// Never the same twice: a store that changes nothing would not travel.
word next_turn() {
  static word turn = 0;
  return ++turn;
}

// Repeats `once`, each time followed by a fence: what it wrote is there.
template <typename F>
timing repeat(duo& d, std::uint64_t count, F&& once) {
  const auto start = base::now();
  for (std::uint64_t i = 0; i < count; ++i) {
    once(next_turn());
    d.vmmc().their_field().fence().or_throw();
  }
  const timing t{.whole = since(start)};
  d.finish();
  return t;
}

// --- a block, by size -------------------------------------------------------------------------------------------------------------

// A program's own work: it computes a block into memory that is bound, or into memory that it then sends.
void compute(word* to, std::size_t size, word turn) {
  for (std::size_t i = 0; i < size / sizeof(word); ++i) to[i] = turn + i;
}

timing auto_block(duo& d, std::size_t size, std::uint64_t count) {
  auto* to = reinterpret_cast<word*>(d.vmmc().bound().data());
  return repeat(d, count, [&](word turn) { compute(to, size, turn); });
}

timing uncombined_block(duo& d, std::size_t size, std::uint64_t count) {
  auto* to = reinterpret_cast<word*>(d.vmmc().tracked(false).data());
  return repeat(d, count, [&](word turn) { compute(to, size, turn); });
}

timing combined_block(duo& d, std::size_t size, std::uint64_t count) {
  auto* to = reinterpret_cast<word*>(d.vmmc().tracked().data());
  return repeat(d, count, [&](word turn) { compute(to, size, turn); });
}

timing deliberate_block(duo& d, std::size_t size, std::uint64_t count) {
  const auto field = d.vmmc().own_field();
  return repeat(d, count, [&](word turn) {
    compute(field.data(), size, turn);
    d.vmmc().their_field().update(0, std::as_bytes(field).first(size)).or_throw();
  });
}

// --- every n-th word of a region ----------------------------------------------------------------------------------------------------

void store_sparsely(word* to, std::size_t region, std::size_t stride, word turn) {
  for (std::size_t i = 0; i < region / sizeof(word); i += stride) to[i] = turn + i;
}

template <std::size_t Region>
timing auto_sparse(duo& d, std::size_t stride, std::uint64_t count) {
  auto* to = reinterpret_cast<word*>(d.vmmc().bound().data());
  return repeat(d, count, [&](word turn) { store_sparsely(to, Region, stride, turn); });
}

template <std::size_t Region>
timing uncombined_sparse(duo& d, std::size_t stride, std::uint64_t count) {
  auto* to = reinterpret_cast<word*>(d.vmmc().tracked(false).data());
  return repeat(d, count, [&](word turn) { store_sparsely(to, Region, stride, turn); });
}

// Gathered by hand: the program knows what it wrote, and sends exactly that.
template <std::size_t Region>
timing gathered_sparse(duo& d, std::size_t stride, std::uint64_t count) {
  const auto field = d.vmmc().own_field();
  std::vector<run> runs;
  return repeat(d, count, [&](word turn) {
    runs.clear();
    for (std::size_t i = 0; i < Region / sizeof(word); i += stride) {
      field[i] = turn + i;
      runs.push_back({i * sizeof(word), std::as_bytes(field.subspan(i, 1))});
    }
    d.vmmc().their_field().update_scattered(runs).or_throw();
  });
}

// The whole region, because nobody kept account.
template <std::size_t Region>
timing whole_sparse(duo& d, std::size_t stride, std::uint64_t count) {
  const auto field = d.vmmc().own_field();
  return repeat(d, count, [&](word turn) {
    store_sparsely(field.data(), Region, stride, turn);
    d.vmmc().their_field().update(0, std::as_bytes(field).first(Region)).or_throw();
  });
}

// --- queues -------------------------------------------------------------------------------------------------------------------------

// SHRIMP 4.5.3: several updates handed over before the first has left.
template <std::size_t Depth>
timing queued_updates(duo& d, std::size_t size, std::uint64_t count) {
  const auto source = std::as_bytes(d.vmmc().own_field());
  update_queue queue(Depth);
  timing t;
  const auto start = base::now();
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::size_t at = i * size % MiB;
    queue.start(d.vmmc().their_field(), at, source.subspan(at, size)).or_throw();
  }
  t.sending = since(start);
  queue.finish().or_throw();
  d.vmmc().their_field().fence().or_throw();
  t.whole = since(start);
  d.finish();
  return t;
}

constexpr std::uint64_t burst = 32;

timing enqueue_bursts(duo& d, std::size_t, std::uint64_t count) {
  timing t;
  for (std::uint64_t i = 0; i < count / burst; ++i) {
    const auto before = d.at().statistics().waits;
    const auto start = base::now();
    for (std::uint64_t n = 0; n < burst; ++n) d.at().enqueue(d.other(), d.their_queue(), n).or_throw();
    t.sending += since(start);
    t.waits += static_cast<double>(d.at().statistics().waits - before);
    d.at().fence(d.other()).or_throw();
  }
  d.finish();
  return t;
}

void drain(duo& d, std::size_t, std::uint64_t) {
  word values[256];
  auto take = [&] {
    for (auto n = d.at().dequeue(d.my_queue(), values); !n.ok() || *n > 0; n = d.at().dequeue(d.my_queue(), values)) {
    }
  };
  d.at()
      .wait(
          [&] {
            take();
            return d.station().finished.load(std::memory_order_relaxed);
          },
          std::chrono::seconds(60))
      .or_throw();
  take();
}

constexpr operation list[] = {
    {"auto_block", auto_block, serve},
    {"combined_block", combined_block, serve},
    {"uncombined_block", uncombined_block, serve},
    {"deliberate_block", deliberate_block, serve},
    {"auto_sparse", auto_sparse<MiB>, serve},
    {"uncombined_sparse", uncombined_sparse<MiB>, serve},
    {"gathered_sparse", gathered_sparse<MiB>, serve},
    {"whole_sparse", whole_sparse<MiB>, serve},
    {"auto_sparse_large", auto_sparse<vmmc_side::field_bytes>, serve},
    {"gathered_sparse_large", gathered_sparse<vmmc_side::field_bytes>, serve},
    {"queued_1", queued_updates<1>, serve},
    {"queued_2", queued_updates<2>, serve},
    {"queued_8", queued_updates<8>, serve},
    {"enqueue_bursts", enqueue_bursts, drain, burst},
};

}  // namespace

std::span<const operation> vmmc_operations() {
  return list;
}

}  // namespace weft::bench
