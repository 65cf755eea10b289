#include "bench/harness/requirements.h"

#include "bench/floor/bare_socket.h"

namespace weft::bench {
namespace {

using number = std::optional<double>;

constexpr std::size_t block = 64 * 1024, megabyte = 1024 * 1024;

number put_one_way(const measurements& m) {
  return m.ratio({"shm", "put_one_way", 8}, {"bare", "two_lines_one_way", 8});
}
number put_one_line(const measurements& m) {
  return m.ratio({"shm", "put_one_line_one_way", 8}, {"bare", "one_line_one_way", 8});
}

number shm_round_trip(const measurements& m) {
  return m.ratio({"shm", "round_trip", 8}, {"bare", "two_lines_round_trip", 8});
}
number shm_round_trip_one_line(const measurements& m) {
  return m.ratio({"shm", "round_trip", 8}, {"bare", "one_line_round_trip", 8});
}

number put_bandwidth(const measurements& m) {
  return m.ratio({"shm", "put_bandwidth", megabyte}, {"bare", "memcpy", megabyte});
}

number udp_round_trip(const measurements& m) {
  return m.ratio({"udp", "round_trip", 8}, {"bare", "socket_round_trip", 8});
}

// The setup whose median is best, wherever it was measured.
measurements::place best_setup(const measurements& m) {
  measurements::place best{"bare", "", 0};
  double most = 0;
  for (std::size_t i = 0; i < bulk_setups; ++i) {
    const auto name = "socket_setup_" + std::to_string(i);
    if (const auto each = m.median("bare", name); each && *each > most) {
      most = *each;
      best = {"bare", name, socket_setups()[i].datagram};
    }
  }
  return best;
}

number udp_bandwidth(const measurements& m) {
  return m.ratio({"udp", "put_bandwidth", block}, best_setup(m));
}

number goodput(const measurements& m) {
  return m.ratio({"udp_lossy", "goodput", block}, {"udp_clean", "goodput", block});
}

number enqueues(const measurements& m) {
  return m.median("shm", "enqueue_per_second", 8);
}
number send_overhead(const measurements& m) {
  return m.median("shm", "send_overhead", 32);
}

}  // namespace

requirement made_of(std::string key, std::string fabric, std::string meaning, bool at_most, double bound,
                    std::vector<measurements::place> needs, measurements::formula made) {
  auto value = [needs, made = std::move(made)](const measurements& m) { return m.paired(needs, made); };
  return {std::move(key), std::move(fabric), std::move(meaning), at_most, bound, std::move(value), std::move(needs)};
}

number best_socket_stream(const measurements& m) {
  const auto best = best_setup(m);
  return m.median(best.owner, best.name, best.size);
}

const std::vector<requirement>& fabric_requirements() {
  static const std::vector<requirement> all = {
      {"shm.put_one_way_over_cache_line", "shm", "8-byte put seen by the other side / bare cache-line hand-over", true, 1.5,
       put_one_way},
      {"shm.round_trip_over_cache_line", "shm", "active message and its reply / bare cache-line round trip", true, 4,
       shm_round_trip},
      {"shm.put_bandwidth_over_memcpy", "shm", "1 MiB puts / memcpy of the same", false, 0.85, put_bandwidth},
      {"udp.round_trip_over_socket", "udp", "active message and its reply / plain blocking UDP round trip", true, 1.6,
       udp_round_trip},
      {"udp.bandwidth_over_socket", "udp", "64 KiB puts / the best plain UDP stream", false, 0.6, udp_bandwidth},
      {"udp.goodput_at_5_percent_loss", "udp", "64 KiB puts with 5% loss each way / without", false, 0.5, goodput},
      {"shm.enqueue_per_second", "shm", "words into a queue that is drained meanwhile, one sender", false, 3e6, enqueues},
      {"shm.send_overhead_ns", "shm", "what sending four words costs the sender", true, 250, send_overhead},
      {"shm.put_one_line_over_single_line", "shm", "one word put to and fro / a single bare line going to and fro", true,
       only_reported, put_one_line},
      {"shm.round_trip_over_single_line", "shm", "active message and its reply / a single bare line going to and fro", true,
       only_reported, shm_round_trip_one_line},
  };
  return all;
}

}  // namespace weft::bench
