// Workers that share nothing: one a node, with messages between them (streams.h), as in a program for NX. For programs whose classes take
// their memory and their worker from `Where` (alone.h): with `apart` everybody has all of the memory to itself, and the program says at the
// places where workers meet what others will read.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "alone.h"
#include "bands.h"
#include "streams.h"
#include "v_cycle.h"

namespace app {

struct apart {
  template <typename T>
  using array = alone::array<T>;

  class worker {
   public:
    using shares_nothing = void;

    explicit worker(streams& s) : streams_(s) {}

    std::uint32_t rank() const noexcept { return streams_.self(); }
    std::uint32_t size() const noexcept { return streams_.nodes(); }
    std::pair<std::size_t, std::size_t> share_of(std::size_t count) const noexcept {
      return {count * rank() / size(), count * (rank() + 1) / size()};
    }
    streams& messages() noexcept { return streams_; }

    void barrier() {
      reduce(0, [](int a, int) { return a; });
    }

    // Up a tree of the workers and down again.
    template <typename T, typename Operation>
    T reduce(const T& mine, Operation operation) {
      T all = mine, other;
      for (const auto child : {2 * rank() + 1, 2 * rank() + 2})
        if (child < size()) {
          streams_.receive(child, bytes_of(other));
          all = operation(all, other);
        }
      if (rank() != 0) {
        streams_.send((rank() - 1) / 2, bytes_of(all));
        streams_.receive((rank() - 1) / 2, bytes_of(all));
      }
      for (const auto child : {2 * rank() + 1, 2 * rank() + 2})
        if (child < size()) streams_.send(child, bytes_of(all));
      return all;
    }
    template <typename T>
    T sum(const T& mine) {
      return reduce(mine, [](const T& a, const T& b) { return a + b; });
    }

   private:
    template <typename T>
    static std::span<std::byte> bytes_of(T& value) {
      return std::as_writable_bytes(std::span(&value, 1));
    }

    streams& streams_;
  };
};

// --- bands ---

// Sends own rows to those who read them, and receives others'. `reads(worker)`: the rows that it reads, first and one past the last.
template <typename Bands, typename Reads>
void send_rows(apart::worker& me, const Bands& of, Reads&& reads) {
  std::vector<std::span<const std::byte>> out(me.size());
  std::vector<std::span<std::byte>> in(me.size());
  const auto part = [&](std::uint32_t owner, std::uint32_t reader) {
    const auto [own_first, own_last] = of.share_of(owner);
    const auto [first, last] = reads(reader);
    const std::size_t from = std::max(own_first, first), to = std::min(own_last, last);
    return std::as_writable_bytes(std::span(of.row(std::min(from, of.rows() - 1)), from < to ? (to - from) * of.length() : 0));
  };
  for (std::uint32_t w = 0; w < me.size(); ++w)
    if (w != me.rank()) {
      out[w] = part(me.rank(), w);  // one worker's rows lie one behind the other
      in[w] = part(w, me.rank());
    }
  me.messages().exchange(out, in);
}

// Everybody reads the own rows and those within `reach` of them.
template <typename... Bands>
void show(apart::worker& me, std::size_t reach, const Bands&... all) {
  const auto show_one = [&](const auto& of) {
    send_rows(me, of, [&](std::uint32_t reader) {
      const auto [first, last] = of.share_of(reader);
      return first < last ? std::pair(first - std::min(first, reach), std::min(last + reach, of.rows())) : std::pair(first, first);
    });
  };
  (show_one(all), ...);
}

// Everybody reads everything; or worker 0 does.
template <typename Bands>
void show_all(apart::worker& me, const Bands& of) {
  send_rows(me, of, [&](std::uint32_t) { return std::pair(std::size_t{0}, of.rows()); });
}
template <typename Bands>
void show_first(apart::worker& me, const Bands& of) {
  send_rows(me, of, [&](std::uint32_t reader) { return std::pair(std::size_t{0}, reader == 0 ? of.rows() : 0); });
}

// Others have copies of their own of what they read.
inline void all_have_read(apart::worker&) {}

// --- grids ---

// A row of a coarser grid is made of two of this one, and dealt to a worker whose own rows are at most two away; and the reverse.
template <typename Grid>
void meet(const Grid& g, written what, apart::worker& me) {
  switch (what) {
    case written::solution: return show(me, 1, g.solution);
    case written::final_solution: return show(me, 2, g.solution);
    case written::residual: return show(me, 2, g.residual);
    case written::residual_for_one: return show_first(me, g.residual);
    case written::solution_of_one: return show_all(me, g.solution);
  }
}

}  // namespace app
