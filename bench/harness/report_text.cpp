#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/text.h"
#include "bench/harness/report.h"
#include "bench/harness/requirements.h"
#include "bench/harness/text_table.h"

namespace weft::bench {
namespace {

using base::format;

// Microseconds a message, of so many bytes at so many GB/s.
double microseconds_each(std::size_t size, double gigabytes) {
  return static_cast<double>(size) / gigabytes / 1000;
}

std::string bound_text(const requirement& r) {
  if (r.bound == only_reported) return "-";
  const bool millions = r.bound >= 1e6;
  return format("%s %.*f%s", r.at_most ? "at most" : "at least", r.bound >= 100 || millions ? 0 : 2,
                millions ? r.bound / 1e6 : r.bound, millions ? " million" : "");
}

std::string value_text(const requirement& r, double v) {
  return r.bound >= 1e6 ? format("%.2f million", v / 1e6) : format("%.*f", r.bound >= 100 ? 0 : 2, v);
}

// A row of Table 2 for messages. Throughput in MB/s and as microseconds a message.
std::vector<std::string> message_row(const measurements& m, const std::string& fabric, const char* kind, const std::string& lane,
                                     std::size_t size) {
  auto get = [&](const char* name) { return value_of(m, fabric, name + lane, size); };
  const double out = get("send_throughput"), in = get("receive_throughput");
  return {fabric + " " + kind,
          short_number(get("send_overhead"), 1e-3),
          short_number(get("receive_overhead"), 1e-3),
          short_number(out, 1000),
          short_number(microseconds_each(size, out)),
          short_number(in, 1000),
          short_number(microseconds_each(size, in)),
          short_number(get("message_latency"), 1e-3)};
}

std::vector<std::string> block_row(const measurements& m, const std::string& fabric, const char* kind, std::size_t size) {
  const double through = value_of(m, fabric, "put_throughput", size), each = microseconds_each(size, through);
  const auto receiving = fabric == "shm" ? "none" : short_number(value_of(m, fabric, "put_receive_overhead", size), 1e-3);
  // The receiver of a put does nothing that could be timed apart: it gets as much as is sent.
  return {fabric + " " + kind, short_number(value_of(m, fabric, "put_send_overhead", size), 1e-3),
          receiving,           short_number(through, 1000),
          short_number(each),  short_number(through, 1000),
          short_number(each),  "-"};
}

struct paper_row {
  const char* cells[8];
};

// StarT-JR, Table 2, in microseconds and MB/s.
constexpr paper_row paper_messages[] = {
    {{"StarT-JR JAM_4", "2.2", "1.1", "0.5", "29", "0.5", "29", "85"}},
    {{"StarT-JR JAM_reply_4", "1.6", "1.1", "0.5", "29", "0.5", "29", "85"}},
    {{"StarT-JR JAM_n=1", "2.0", "1.3", "0.1", "27", "0.1", "26", "-"}},
    {{"StarT-JR JAM_n=20", "5.4", "3.5", "1.9", "42", "1.9", "42", "-"}},
    {{"StarT-JR JAM_reply_n=1", "1.5", "1.3", "0.1", "27", "0.1", "27", "-"}},
    {{"StarT-JR JAM_reply_n=20", "4.0", "3.6", "1.9", "43", "1.9", "42", "-"}},
    {{"StarT-JR JAM_xfer_4", "2.7", "1.5", "0.5", "48", "0.5", "48", "-"}},
    {{"StarT-JR JAM_mfer_n=16", "1.9", "1.2", "1.5", "17", "0.4", "69", "-"}},
    {{"StarT-JR JAM_dma_n=640", "2.1", "1.1", "3.4", "-", "3.4", "-", "-"}},
};

// A row of Table 3: overhead is sending and receiving together, both with the smallest message.
std::vector<std::string> comparison_row(const std::string& title, double send, double receive, double latency, double bandwidth) {
  return {title, short_number(send + receive, 1e-3), short_number(latency, 1e-3), short_number(bandwidth, 1000)};
}

std::vector<std::string> comparison_row(const measurements& m, const system& s) {
  return comparison_row(s.title, value_of(m, s.owner, "send_overhead"), value_of(m, s.owner, "receive_overhead"),
                        value_of(m, s.owner, "latency"), value_of(m, s.owner, "put_bandwidth", 64 * 1024));
}

std::string sentence_of(const requirement& r, std::optional<double> value) {
  if (!value) return "not measured";
  if (r.bound == only_reported) return "";
  return (r.at_most ? *value <= r.bound : *value >= r.bound) ? "met" : "NOT MET";
}

}  // namespace

std::string ratios_text(const report& r) {
  text_table t({"key", "value", "must be", "", "what it is"}, 3);
  for (const auto& each : *r.judged_by) {
    const bool wanted = std::any_of(r.fabrics.begin(), r.fabrics.end(), [&](const system& f) { return f.owner == each.fabric; });
    if (!wanted) continue;
    const auto value = each.value(r.found);
    t.row({each.key, value ? value_text(each, *value) : "-", bound_text(each), sentence_of(each, value), each.meaning});
  }
  return t.text();
}

std::string table_2_text(const report& r) {
  text_table t({"StarT-JR, Table 2", "send us", "receive us", "send MB/s", "us each", "recv MB/s", "us each", "latency us"});
  for (const auto& f : r.fabrics) {
    for (const char* lane : {"", "_reply"}) {
      const std::string on = std::strlen(lane) > 0 ? ", reply lane" : "";
      t.row(message_row(r.found, f.owner, ("4 words" + on).c_str(), lane, 32));
      t.row(message_row(r.found, f.owner, ("1 word" + on).c_str(), lane, 8));
      t.row(message_row(r.found, f.owner, ("20 words" + on).c_str(), lane, 160));
    }
    t.row(block_row(r.found, f.owner, "put of 4 words", 32));
    t.row(block_row(r.found, f.owner, "put of 16 words", 128));
    t.row(block_row(r.found, f.owner, "put of 640 words", 5120));
    t.rule();
  }
  for (const auto& p : paper_messages) t.row({std::begin(p.cells), std::end(p.cells)});
  return t.text();
}

std::string table_3_text(const report& r) {
  const auto& m = r.found;
  text_table t({"StarT-JR, Table 3", "overhead us", "latency us", "bandwidth MB/s"});
  t.row(comparison_row("plain UDP sockets", value_of(m, "bare", "socket_send_overhead"),
                       value_of(m, "bare", "socket_receive_overhead"), value_of(m, "bare", "socket_latency"),
                       best_socket_stream(m).value_or(NAN)));
  for (const auto& f : r.fabrics) t.row(comparison_row(m, f));
  for (const auto& p : r.peers) t.row(comparison_row(m, p));
  t.rule();
  t.row({"TCP/IP and Ethernet (paper)", "27", "1289", "0.8"});
  t.row({"CMAM and CM-5 (paper)", "2.9", "12.5", "10.0"});
  t.row({"JAM and StarT-JR, IEEE 1394 (paper)", "3.3", "85", "3.4"});
  t.row({"JAM and StarT-JR, MIT Arctic (paper)", "3.6", "18.0", "9.1"});
  t.row({"FM and Myrinet (paper)", "4.4", "13.1", "17.5"});
  return t.text();
}

// What neither table of the paper has.
std::string rest_text(const report& r) {
  std::vector<std::string> head = {"one-sided operations and rates"};
  auto all = r.fabrics;
  all.insert(all.end(), r.peers.begin(), r.peers.end());
  for (const auto& s : all) head.push_back(s.title);
  text_table t(head);
  auto add = [&](const char* title, const char* name, std::size_t size, double scale) {
    std::vector<std::string> cells = {title};
    for (const auto& s : all) cells.push_back(short_number(value_of(r.found, s.owner, name, size), scale));
    t.row(std::move(cells));
  };
  add("put of 8 bytes, one way (us)", "put_one_way", 8, 1e-3);
  add("get of 8 bytes (us)", "get", 8, 1e-3);
  add("get of 4 KiB (us)", "get", 4096, 1e-3);
  add("fetch_add (us)", "fetch_add", 8, 1e-3);
  add("swap (us)", "swap", 8, 1e-3);
  add("fence (us)", "fence", 0, 1e-3);
  add("64 KiB puts (GB/s)", "put_bandwidth", 64 * 1024, 1);
  add("1 MiB puts (GB/s)", "put_bandwidth", 1024 * 1024, 1);
  add("1 MiB gets (GB/s)", "get_bandwidth", 1024 * 1024, 1);
  add("one-word messages (million/s)", "messages_per_second", 8, 1e-6);
  add("words enqueued (million/s)", "enqueue_per_second", 8, 1e-6);
  add("atomics (million/s)", "atomics_per_second", 8, 1e-6);
  add("barrier of two (us)", "barrier", 0, 1e-3);
  return t.text();
}

}  // namespace weft::bench
