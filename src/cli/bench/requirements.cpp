#include "cli/bench/requirements.h"

#include <algorithm>

#include "cli/bench/bare_socket.h"

namespace weft::cli::bench {
namespace {

using number = std::optional<double>;

constexpr std::size_t block = 64 * 1024, megabyte = 1024 * 1024;

number ratio(number a, number b) { return a && b && *b > 0 ? number(*a / *b) : std::nullopt; }

number put_one_way(const measurements& m) { return ratio(m.median("shm", "put_one_way", 8), cache_line_one_way(m)); }

number shm_round_trip(const measurements& m) {
  const auto line = cache_line_one_way(m);
  return line ? ratio(m.median("shm", "round_trip", 8), 2 * *line) : std::nullopt;
}

number put_bandwidth(const measurements& m) {
  return ratio(m.median("shm", "put_bandwidth", megabyte), m.median("bare", "memcpy", megabyte));
}

number udp_round_trip(const measurements& m) {
  return ratio(m.median("udp", "round_trip", 8), m.median("bare", "socket_round_trip", 8));
}

number udp_bandwidth(const measurements& m) { return ratio(m.median("udp", "put_bandwidth", block), best_socket_stream(m)); }

number goodput(const measurements& m) { return ratio(m.median("udp_lossy", "goodput", block), m.median("udp_clean", "goodput", block)); }

number enqueues(const measurements& m) { return m.median("shm", "enqueue_per_second", 8); }
number send_overhead(const measurements& m) { return m.median("shm", "send_overhead", 32); }

}  // namespace

number cache_line_one_way(const measurements& m) {
  const auto one = m.median("bare", "one_line_one_way", 8), two = m.median("bare", "two_lines_one_way", 8);
  return one && two ? number(std::min(*one, *two)) : std::nullopt;
}

number best_socket_stream(const measurements& m) {
  number best;
  for (std::size_t i = 0; i < bulk_setups; ++i)
    if (const auto each = m.median("bare", "socket_setup_" + std::to_string(i)); each && (!best || *each > *best)) best = each;
  return best;
}

const std::vector<requirement>& requirements() {
  static const std::vector<requirement> all = {
      {"shm.put_one_way_over_cache_line", "shm", "8-byte put seen by the other side / bare cache-line hand-over", true, 1.5, put_one_way},
      {"shm.round_trip_over_cache_line", "shm", "active message and its reply / bare cache-line round trip", true, 4, shm_round_trip},
      {"shm.put_bandwidth_over_memcpy", "shm", "1 MiB puts / memcpy of the same", false, 0.85, put_bandwidth},
      {"udp.round_trip_over_socket", "udp", "active message and its reply / plain blocking UDP round trip", true, 1.6, udp_round_trip},
      {"udp.bandwidth_over_socket", "udp", "64 KiB puts / the best plain UDP stream", false, 0.6, udp_bandwidth},
      {"udp.goodput_at_5_percent_loss", "udp", "64 KiB puts with 5% loss each way / without", false, 0.5, goodput},
      {"shm.enqueue_per_second", "shm", "words into a queue that is drained meanwhile, one sender", false, 3e6, enqueues},
      {"shm.send_overhead_ns", "shm", "what sending four words costs the sender", true, 250, send_overhead},
  };
  return all;
}

}  // namespace weft::cli::bench
