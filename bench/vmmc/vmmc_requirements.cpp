// The ratios that `weft bench vmmc` is judged by.
#include "bench/harness/requirements.h"

namespace weft::bench {
namespace {

using number = std::optional<double>;

constexpr std::size_t one_percent = 100;  // every hundredth word

number deliberate(const measurements& m) {
  return m.ratio({"shm", "update", 8}, {"shm", "put", 8});
}
number deliberate_one_way(const measurements& m) {
  return m.ratio({"shm", "update_one_way", 8}, {"shm", "put_one_way", 8});
}
number automatic(const measurements& m) {
  return m.ratio({"shm", "auto_update_one_way", 8}, {"bare", "two_lines_one_way", 8});
}
number tracked(const measurements& m) {
  return m.ratio({"udp", "auto_sparse_16_MiB", one_percent}, {"udp", "gathered_sparse_16_MiB", one_percent});
}
template <std::size_t Senders>
number enqueue(const measurements& m) {
  return m.ratio({"shm", "enqueue_word", Senders}, {"shm", "fetch_add_put_word", Senders});
}
number enqueue_udp(const measurements& m) {
  return m.ratio({"udp", "enqueue_word", 4}, {"udp", "fetch_add_put_word", 4});
}
number enqueue_waits(const measurements& m) {
  return m.median("udp", "enqueue_waits", 8);
}
number call_shm(const measurements& m) {
  return m.ratio({"shm", "call_round_trip", 8}, {"shm", "send_round_trip", 8});
}
number call_udp(const measurements& m) {
  return m.ratio({"udp", "call_round_trip", 8}, {"udp", "send_round_trip", 8});
}
number call_stream_shm(const measurements& m) {
  return m.ratio({"shm", "call_in_a_stream", 8}, {"shm", "send_in_a_stream", 8});
}

}  // namespace

const std::vector<requirement>& vmmc_requirements() {
  static const std::vector<requirement> all = {
      {"shm.deliberate_over_put", "shm", "8-byte deliberate update / bare put of the port", true, 1.3, deliberate},
      {"shm.auto_update_over_cache_line", "shm", "store to mapped memory seen by the other side / bare cache-line hand-over", true,
       1.2, automatic},
      {"udp.tracked_over_deliberate_sparse", "udp", "1% of the words of 16 MiB: tracked / gathered by hand and sent", true, 2,
       tracked},
      {"shm.enqueue_over_fetch_add_put", "shm", "remote enqueue / fetch_add and then put, 4 senders", true, 1, enqueue<4>},
      {"udp.enqueue_round_trips", "udp", "round trips that the sender of a word waits for", true, 0, enqueue_waits},
      {"shm.am_over_port_send", "shm", "typed active message and its answer / the same by the port's send", true, 1.15, call_shm},
      {"udp.am_over_port_send", "udp", "typed active message and its answer / the same by the port's send", true, 1.15, call_udp},
      {"shm.deliberate_one_way_over_put", "shm", "the same, seen by the other side", true, only_reported, deliberate_one_way},
      {"shm.am_stream_over_port_send", "shm", "typed active messages in a stream / the same by the port's send", true,
       only_reported, call_stream_shm},
      {"shm.enqueue_over_fetch_add_put_1", "shm", "remote enqueue / fetch_add and then put, 1 sender", true, only_reported,
       enqueue<1>},
      {"udp.enqueue_over_fetch_add_put", "udp", "remote enqueue / fetch_add and then put, 4 senders", true, only_reported,
       enqueue_udp},
  };
  return all;
}

}  // namespace weft::bench
