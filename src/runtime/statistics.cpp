#include "runtime/statistics.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/text.h"
#include "runtime/version.h"

namespace weft::runtime {

namespace {

// Objects and lists of JSON, one after another.
class json {
 public:
  json& open(const char* key, char bracket) {
    begin(key);
    text_ += bracket;
    first_ = true;
    closing_ += bracket == '{' ? '}' : ']';
    return *this;
  }
  json& close() {
    const char bracket = closing_.back();
    closing_.pop_back();
    text_ += bracket;
    first_ = false;
    return *this;
  }
  json& number(const char* key, std::uint64_t value) {
    begin(key);
    text_ += std::to_string(value);
    return *this;
  }
  json& seconds(const char* key, base::nanoseconds value) {
    begin(key);
    text_ += base::format("%.9f", static_cast<double>(value) / static_cast<double>(base::second));
    return *this;
  }
  json& text(const char* key, const std::string& value) {  // of ours: nothing in it needs an escape
    begin(key);
    text_ += '"' + value + '"';
    return *this;
  }
  json& line() {
    pending_line_ = true;
    return *this;
  }
  std::string take() { return std::move(text_) + "\n"; }

 private:
  void begin(const char* key) {
    if (!first_) text_ += ',';
    if (std::exchange(pending_line_, false))
      text_ += '\n' + std::string(closing_.size(), ' ');
    else if (!first_)
      text_ += ' ';
    first_ = false;
    if (key) text_ += std::string("\"") + key + "\": ";
  }

  std::string text_, closing_;
  bool first_ = true, pending_line_ = false;
};

struct told {
  node_statistics is;
  std::vector<traffic_with> traffic;
};

told read(const base::byte_buffer& from) {
  told t;
  if (from.size() < sizeof t.is) return t;
  std::memcpy(&t.is, from.data(), sizeof t.is);
  t.traffic.resize((from.size() - sizeof t.is) / sizeof(traffic_with));
  if (!t.traffic.empty()) std::memcpy(t.traffic.data(), from.data() + sizeof t.is, t.traffic.size() * sizeof(traffic_with));
  return t;
}

void write_times(json& out, const std::array<base::nanoseconds, base::phases>& spent) {
  const auto of = [&](base::phase p) { return spent[static_cast<std::size_t>(p)]; };
  using base::phase;
  out.line().open("time", '{');
  out.seconds("compute", of(phase::compute)).seconds("page_fetch", of(phase::fetch)).seconds("lock", of(phase::lock));
  out.seconds("barrier", of(phase::barrier)).seconds("handler", of(phase::handler)).seconds("protocol", of(phase::protocol));
  out.close();
}

void write_counts(json& out, const node_statistics& n) {
  const auto of = [&](base::event e) { return n.events[static_cast<std::size_t>(e)]; };
  using base::event;
  const auto& p = n.protocol;
  out.line().open("counts", '{');
  out.number("read_faults", p.read_faults).number("write_faults", p.write_faults);
  out.number("fetches", p.fetches).number("fetched_pages", p.fetched_pages).number("fetched_ahead", p.fetched_pages - p.fetches);
  out.number("diffs", p.changed_pages).number("diff_bytes", p.changed_bytes).number("diff_runs", p.changed_runs);
  out.number("notices_sent", p.notices_out).number("notices_received", p.notices_in).number("invalidated", p.invalidated);
  out.number("releases", p.releases).number("acquires", p.acquires);
  out.number("collections", p.collections).number("protocol_memory", p.most_memory);
  out.number("lock_acquires", of(event::lock_acquires)).number("lock_waits", of(event::lock_waits));
  out.number("barriers", n.barriers).number("value_waits", of(event::value_waits));
  out.number("condition_waits", of(event::condition_waits));
  out.close();
}

void write_port(json& out, const port_statistics& p) {
  out.line().open("port", '{');
  out.number("puts", p.puts).number("put_bytes", p.put_bytes).number("gets", p.gets).number("get_bytes", p.get_bytes);
  out.number("atomics", p.atomics).number("enqueues", p.enqueues).number("sends", p.sends).number("send_bytes", p.send_bytes);
  out.number("fences", p.fences).number("handled", p.handled).number("waits", p.waits).number("sleeps", p.sleeps);
  out.number("system_calls", p.system_calls).number("datagrams_out", p.datagrams_out).number("datagrams_in", p.datagrams_in);
  out.number("retransmitted", p.retransmitted).number("duplicates", p.duplicates).number("rejected", p.rejected);
  out.close();
}

void write_node(json& out, node_id number, std::uint32_t host, const told& t) {
  out.line().open(nullptr, '{');
  out.number("node", number).number("host", host).number("threads", t.is.threads).seconds("wall", t.is.wall);
  write_times(out, t.is.spent);
  out.seconds("communication_thread", t.is.served);
  write_counts(out, t.is);
  write_port(out, t.is.port);
  out.line().open("traffic", '[');
  for (const auto& with : t.traffic)
    out.open(nullptr, '{').number("node", with.node).number("fetched_bytes", with.fetched).number("diff_bytes", with.changed).close();
  out.close().close();
}

}  // namespace

base::byte_buffer collect(const base::activity& a, base::nanoseconds began, const observed& shared, const port& p, std::size_t room) {
  node_statistics n;
  const auto times = a.summed();
  n.threads = times.threads;
  n.wall = a.now() - began;
  n.spent = times.spent;
  n.served = times.served;
  for (std::size_t e = 0; e < base::events; ++e) n.events[e] = a.sum(static_cast<base::event>(e));
  n.barriers = shared.barriers();
  n.protocol = shared.statistics();
  n.port = p.statistics();
  std::vector<traffic_with> traffic;
  const auto with = a.traffic();
  for (node_id peer = 0; peer < with.size(); ++peer)
    if (with[peer].fetched + with[peer].changed != 0) traffic.push_back({peer, with[peer].fetched, with[peer].changed});
  if (const std::size_t most = (room - sizeof n) / sizeof(traffic_with); traffic.size() > most) {
    const auto more = [](const auto& x, const auto& y) { return x.fetched + x.changed > y.fetched + y.changed; };
    std::partial_sort(traffic.begin(), traffic.begin() + static_cast<std::ptrdiff_t>(most), traffic.end(), more);
    traffic.resize(most);
  }
  base::byte_buffer all(sizeof n + traffic.size() * sizeof(traffic_with));
  std::memcpy(all.data(), &n, sizeof n);
  if (!traffic.empty()) std::memcpy(all.data() + sizeof n, traffic.data(), traffic.size() * sizeof(traffic_with));
  return all;
}

std::string statistics_document(const identity& who, const char* way, const char* fabric, const observed& shared,
                                const std::vector<base::byte_buffer>& all) {
  json out;
  base::nanoseconds wall = 0;
  std::array<base::nanoseconds, base::phases> spent{};
  std::vector<told> nodes;
  for (const auto& each : all) {
    nodes.push_back(read(each));
    wall = std::max(wall, nodes.back().is.wall);
    for (std::size_t p = 0; p < base::phases; ++p) spent[p] += nodes.back().is.spent[p];
  }
  out.open(nullptr, '{').line().text("weft", version).text("started_by", way).number("nodes", who.nodes).number("hosts", who.hosts);
  out.text("fabric", fabric).text("protocol", shared.protocol()).text("engine", shared.engine());
  out.line().open("all", '{').seconds("wall", wall);
  write_times(out, spent);
  out.close();
  out.line().open("per_node", '[');
  for (node_id n = 0; n < nodes.size(); ++n) write_node(out, n, who.host_of[n], nodes[n]);
  out.close().close();
  return out.take();
}

status write_document(const std::string& where, const std::string& document) {
  std::FILE* file = where == "-" ? stderr : std::fopen(where.c_str(), "w");
  if (!file) return base::system_failure("the statistics cannot be written to " + where, errno);
  const bool written = std::fwrite(document.data(), 1, document.size(), file) == document.size();
  if ((file == stderr ? std::fflush(file) : std::fclose(file)) == 0 && written) return {};
  return base::system_failure("the statistics cannot be written to " + where, errno);
}

}  // namespace weft::runtime
