// What `weft bench vmmc` measures between two nodes: the papers' questions, one after the other.
#include "bench/harness/schedule.h"

namespace weft::bench {
namespace {

constexpr std::size_t KiB = 1024, MiB = KiB * KiB;
constexpr std::size_t sizes[] = {8, 64, 512, 4 * KiB, 32 * KiB, 256 * KiB, MiB};
constexpr std::size_t strides[] = {1, 4, 16, 64, 256, 1024};  // in words
constexpr std::size_t one_percent = 100;

// What the layer adds to the port's own operations, and what these add to the machine's.
void add_overheads(schedule& s, const std::string& fabric) {
  s.push_back({
      {fabric, "put_stream", 8, 8, {ns("put")}},
      {fabric, "update_stream", 8, 8, {ns("update")}},
      {fabric, "called_update_stream", 8, 8, {ns("called_update")}},
      {fabric, "notifying_update_stream", 8, 8, {ns("notifying_update")}},
  });
  group ping_pongs = {
      {fabric, "put_ping_pong", 8, 8, {half("put_one_way")}},
      {fabric, "update_ping_pong", 8, 8, {half("update_one_way")}},
      {fabric, "called_update_ping_pong", 8, 8, {half("called_update_one_way")}},
  };
  if (fabric == "shm") {
    ping_pongs.push_back({fabric, "store_ping_pong", 8, 8, {half("auto_update_one_way")}});
    ping_pongs.push_back({"bare", "two_lines", 8, 8, {half("two_lines_one_way")}});
  }
  s.push_back(std::move(ping_pongs));
  for (const std::size_t size : {8, 32, 160})
    s.push_back({
        {fabric, "round_trip", size, size, {ns("send_round_trip")}},
        {fabric, "typed_round_trip", size, size, {ns("call_round_trip"), half("latency")}},
    });
  s.push_back({
      {fabric, "stream", 8, 8, {ns("send_in_a_stream")}},
      {fabric, "typed_stream", 8, 8, {ns("call_in_a_stream")}},
  });
}

// SHRIMP 4.2: by message size, and by how sparsely a region is written.
void add_automatic_against_deliberate(schedule& s, const std::string& fabric) {
  for (const std::size_t size : sizes)
    s.push_back({
        {fabric, "auto_block", size, size, {ns("auto_block")}},
        {fabric, "deliberate_block", size, size, {ns("deliberate_block")}},
    });
  for (const std::size_t stride : strides)
    s.push_back({
        {fabric, "auto_sparse", stride, stride, {ns("auto_sparse")}},
        {fabric, "gathered_sparse", stride, stride, {ns("gathered_sparse")}},
        {fabric, "whole_sparse", stride, stride, {ns("whole_sparse")}},
    });
  s.push_back({
      {fabric, "auto_sparse_large", one_percent, one_percent, {ns("auto_sparse_16_MiB")}},
      {fabric, "gathered_sparse_large", one_percent, one_percent, {ns("gathered_sparse_16_MiB")}},
  });
}

// SHRIMP 4.5.1: tracked pages with and without combining.
void add_combining(schedule& s, const std::string& fabric) {
  for (const std::size_t size : {std::size_t{64}, 4 * KiB, 256 * KiB})
    s.push_back({
        {fabric, "combined_block", size, size, {ns("combined_block")}},
        {fabric, "uncombined_block", size, size, {ns("uncombined_block")}},
    });
}

// SHRIMP 4.5.3.
void add_queueing(schedule& s, const std::string& fabric) {
  for (const std::size_t size : {64 * std::size_t{1}, 4 * KiB, 64 * KiB})
    s.push_back({
        {fabric, "queued_1", size, size, {bandwidth("queued_1"), ns("queued_1_overhead", &timing::sending)}},
        {fabric, "queued_2", size, size, {bandwidth("queued_2"), ns("queued_2_overhead", &timing::sending)}},
        {fabric, "queued_8", size, size, {bandwidth("queued_8"), ns("queued_8_overhead", &timing::sending)}},
    });
}

}  // namespace

schedule make_vmmc_schedule(const std::string& fabric) {
  schedule s;
  add_overheads(s, fabric);
  add_automatic_against_deliberate(s, fabric);
  add_combining(s, fabric);
  add_queueing(s, fabric);
  s.push_back({{fabric,
                "enqueue_bursts",
                8,
                8,
                {{"enqueue_waits", &timing::waits, unit::count}, ns("enqueue_overhead", &timing::sending)}}});
  add_table_2(s, fabric, "typed_", "transfer_");
  s.push_back({{fabric, "update_stream", 64 * KiB, 64 * KiB, {bandwidth("put_bandwidth")}}});
  return s;
}

}  // namespace weft::bench
