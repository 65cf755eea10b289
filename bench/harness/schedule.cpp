#include "bench/harness/schedule.h"

#include <algorithm>

#include "bench/floor/bare_socket.h"

namespace weft::bench {
output ns(std::string name, double timing::*field) {
  return {std::move(name), field, unit::nanoseconds};
}
output half(std::string name) {
  return {std::move(name), &timing::whole, unit::half_nanoseconds};
}
output rate(std::string name, double timing::*field) {
  return {std::move(name), field, unit::per_second};
}
output bandwidth(std::string name, double timing::*field) {
  return {std::move(name), field, unit::gigabytes_per_second};
}

namespace {

constexpr std::size_t KiB = 1024, MiB = KiB * KiB;

// The primitives of StarT-JR's Table 2 by what they carry: 4-byte integers there, 8-byte words here.
constexpr std::size_t one_word = 8, four_words = 32, sixteen_words = 128, twenty_words = 160, dma_words = 640 * 8;

constexpr std::size_t message_sizes[] = {8, 64, 512, 4 * KiB, 16 * KiB, 64 * KiB};
constexpr std::size_t block_sizes[] = {8, 64, 512, 4 * KiB, 16 * KiB, 64 * KiB, 256 * KiB, MiB, 4 * MiB};

item bare(const std::string& operation, std::size_t size, std::size_t bytes, std::vector<output> outputs) {
  return {"bare", operation, size, bytes, std::move(outputs)};
}

// The udp fabric looks around for a while after traffic, which would cost a socket's blocking round trips their core.
item bare_socket(const std::string& operation, std::size_t size, std::size_t bytes, std::vector<output> outputs) {
  return {"bare", operation, size, bytes, std::move(outputs), true};
}

// What is compared with what shared memory does by itself.
void add_shared_memory(schedule& s) {
  s.push_back({
      {"shm", "put_ping_pong", 8, 8, {half("put_one_way")}},
      bare("two_lines", 8, 8, {half("two_lines_one_way"), ns("two_lines_round_trip")}),
      {"shm", "round_trip", 8, 8, {ns("round_trip"), half("latency")}},
      bare("one_line", 8, 8, {half("one_line_one_way"), ns("one_line_round_trip")}),
      {"shm", "put_one_line", 8, 8, {half("put_one_line_one_way")}},
  });
  for (const std::size_t size : block_sizes)
    s.push_back({
        {"shm", "put_stream", size, size, {bandwidth("put_bandwidth"), rate("puts_per_second")}},
        bare("memcpy", size, size, {bandwidth("memcpy")}),
    });
}

// What is compared with plain sockets.
void add_sockets(schedule& s) {
  for (const std::size_t size : message_sizes) {
    group g = {{"udp", "round_trip", size, size, {ns("round_trip"), half("latency")}}};
    if (size <= 16 * KiB)
      g.push_back(bare_socket("socket_round_trip", size, size, {ns("socket_round_trip"), half("socket_latency")}));
    s.push_back(std::move(g));
  }
  s.push_back({bare_socket("socket_bursts", 8, 8,
                           {ns("socket_send_overhead", &timing::sending), ns("socket_receive_overhead", &timing::receiving)})});
  group blocks = {{"udp", "put_stream", 64 * KiB, 64 * KiB, {bandwidth("put_bandwidth"), rate("puts_per_second")}}};
  const auto setups = socket_setups();
  for (std::size_t i = 0; i < bulk_setups; ++i)
    blocks.push_back(bare_socket("socket_stream", i, setups[i].datagram, {bandwidth("socket_setup_" + std::to_string(i))}));
  s.push_back(std::move(blocks));
  for (std::size_t i = bulk_setups; i < setups.size(); ++i)
    s.push_back(
        {bare_socket("socket_stream", i, setups[i].datagram, {bandwidth("socket_stream"), rate("socket_messages_per_second")})});
}

void add_rest(schedule& s, const std::string& fabric) {
  if (fabric != "shm") s.push_back({{fabric, "put_ping_pong", 8, 8, {half("put_one_way")}}});
  if (fabric != "udp")
    for (const std::size_t size : message_sizes)
      if (fabric != "shm" || size != 8) s.push_back({{fabric, "round_trip", size, size, {ns("round_trip"), half("latency")}}});
  for (const std::size_t size : block_sizes) {
    if (fabric != "shm" && !(fabric == "udp" && size == 64 * KiB))
      s.push_back({{fabric, "put_stream", size, size, {bandwidth("put_bandwidth"), rate("puts_per_second")}}});
    s.push_back({{fabric, "get", size, size, {bandwidth("get_bandwidth"), ns("get")}}});
  }
  for (const std::size_t size : message_sizes) s.push_back({{fabric, "stream", size, size, {rate("messages_per_second")}}});
  s.push_back({{fabric, "fetch_add", 8, 8, {ns("fetch_add"), rate("atomics_per_second")}}});
  s.push_back({{fabric, "swap", 8, 8, {ns("swap")}}});
  s.push_back({{fabric, "fence", 0, 0, {ns("fence")}}});
  s.push_back({{fabric, "enqueue", 8, 8, {rate("enqueue_per_second"), ns("enqueue_overhead", &timing::sending)}}});
}

}  // namespace

void add_table_2(schedule& s, const std::string& fabric, const std::string& kind, const std::string& blocks) {
  for (const bool reply : {false, true}) {
    const std::string lane = reply ? "_reply" : "";
    for (const std::size_t size : {one_word, four_words, twenty_words})
      s.push_back({
          {fabric, kind + "send_bursts" + lane, size, size, {ns("send_overhead" + lane, &timing::sending)}},
          {fabric, kind + "held_sends" + lane, size, size, {ns("receive_overhead" + lane, &timing::receiving)}},
          {fabric,
           kind + "stream" + lane,
           size,
           size,
           {bandwidth("send_throughput" + lane, &timing::sending), bandwidth("receive_throughput" + lane, &timing::receiving)}},
          {fabric, kind + "round_trip" + lane, size, size, {half("message_latency" + lane)}},
      });
  }
  for (const std::size_t size : {four_words, sixteen_words, dma_words}) {
    group g = {
        {fabric, blocks + "put_bursts", size, size, {ns("put_send_overhead", &timing::sending)}},
        {fabric, blocks + "put_stream", size, size, {bandwidth("put_throughput")}},
    };
    // Where the receiver's thread has a part in a put that can be held back and timed.
    if (fabric == "udp" && blocks.empty())
      g.push_back({fabric, "held_puts", size, size, {ns("put_receive_overhead", &timing::receiving)}});
    s.push_back(std::move(g));
  }
}

const char* name_of(suite which) {
  switch (which) {
    case suite::everything: return "everything";
    case suite::goodput: return "goodput";
    case suite::vmmc: return "vmmc";
    case suite::senders: return "senders";
    case suite::memory: return "memory";
    case suite::barrier: return "barrier";
    case suite::contenders: return "contenders";
  }
  return "";
}

schedule make_schedule(suite which, const std::string& fabric) {
  if (which == suite::vmmc) return make_vmmc_schedule(fabric);
  if (which == suite::memory) return make_memory_schedule(fabric);
  if (which == suite::barrier) return {{{fabric, "barriers", 0, 0, {ns("barrier")}}}};
  if (which == suite::goodput) return {{{fabric, "put_stream", 64 * KiB, 64 * KiB, {bandwidth("goodput")}}}};
  schedule s;
  if (fabric == "shm") add_shared_memory(s);
  if (fabric == "udp") add_sockets(s);
  add_table_2(s, fabric, "", "");
  add_rest(s, fabric);
  return s;
}

void keep(schedule& s, const std::function<bool(const item&)>& wanted) {
  for (auto& g : s) std::erase_if(g, [&](const item& i) { return !wanted(i); });
  std::erase_if(s, [](const group& g) { return g.empty(); });
}

std::size_t samples_in(const schedule& s, const settings& how) {
  std::size_t items = 0;
  for (const auto& g : s) items += g.size();
  return items * how.repeat;
}

}  // namespace weft::bench
