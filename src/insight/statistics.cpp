#include "insight/statistics.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <set>

#include "base/text.h"
#include "base/json.h"
#include "join/version.h"

namespace weft::runtime {

namespace {

// The text of the lists for the report is bounded, because the document travels in one message.
constexpr std::size_t most_list_text = std::size_t{8} * 1024 * 1024;

void write_times(base::json& out, const std::array<base::nanoseconds, observe::phases>& spent) {
  const auto of = [&](observe::phase p) { return spent[static_cast<std::size_t>(p)]; };
  using observe::phase;
  out.line().open("time", '{');
  out.seconds("compute", of(phase::compute)).seconds("page_fetch", of(phase::fetch)).seconds("lock", of(phase::lock));
  out.seconds("barrier", of(phase::barrier)).seconds("handler", of(phase::handler)).seconds("protocol", of(phase::protocol));
  out.close();
}

void write_watching(base::json& out, const observed::watching& cost) {
  out.open("watching", '{').seconds("phases", cost.phases).seconds("pages", cost.pages).close();
}

void write_counts(base::json& out, const account::numbers& n) {
  const auto of = [&](observe::event e) { return n.events[static_cast<std::size_t>(e)]; };
  using observe::event;
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

void write_port(base::json& out, const port_statistics& p) {
  out.line().open("port", '{');
  out.number("puts", p.puts).number("put_bytes", p.put_bytes).number("gets", p.gets).number("get_bytes", p.get_bytes);
  out.number("atomics", p.atomics).number("enqueues", p.enqueues).number("sends", p.sends).number("send_bytes", p.send_bytes);
  out.number("fences", p.fences).number("handled", p.handled).number("waits", p.waits).number("sleeps", p.sleeps);
  out.number("system_calls", p.system_calls).number("datagrams_out", p.datagrams_out).number("datagrams_in", p.datagrams_in);
  out.number("retransmitted", p.retransmitted).number("duplicates", p.duplicates).number("rejected", p.rejected);
  out.close();
}

void write_epochs(base::json& out, const observe::activity::epoch_times& e) {
  using observe::phase;
  out.line().open("epochs", '{').number("barriers_each", e.barriers);
  out.line().open("time", '[');
  for (const auto& spent : e.spent) {
    out.open(nullptr, '[');
    for (const phase p : {phase::compute, phase::fetch, phase::lock, phase::barrier, phase::handler, phase::protocol})
      out.seconds(nullptr, spent[static_cast<std::size_t>(p)]);
    out.close();
  }
  out.close().close();
}

void write_locks(base::json& out, const std::vector<account::contended>& locks) {
  out.line().open("locks", '[');
  for (const auto& l : locks)
    out.line()
        .open(nullptr, '{')
        .text("name", l.name)
        .number("waits", l.waits)
        .seconds("waited", l.waited)
        .text("place", l.place)
        .close();
  out.close();
}

void write_ranges(base::json& out, const char* key, const std::vector<account::byte_range>& ranges) {
  if (ranges.empty()) return;
  out.open(key, '[');
  for (const auto& r : ranges) out.open(nullptr, '[').number(nullptr, r.first).number(nullptr, r.last).close();
  out.close();
}

void write_pages(base::json& out, const account& a, std::size_t most_text) {
  const auto limit = out.size() + most_text;
  std::size_t written = 0;
  out.line().open("pages", '[');
  for (const auto& p : a.pages) {
    if (out.size() > limit) break;
    out.line().open(nullptr, '{').number("page", p.number);
    if (p.home) out.yes("home");
    for (const auto& [key, value] :
         {std::pair{"read_faults", p.read_faults}, {"write_faults", p.write_faults}, {"fetches", p.fetches}, {"writes", p.writes}})
      if (value != 0) out.number(key, value);
    if (p.changed_bytes != 0) out.number("diff_bytes", p.changed_bytes);
    write_ranges(out, "written", p.written);
    write_ranges(out, "by_others", p.by_others);
    out.close();
    ++written;
  }
  out.close();
  out.line().number("pages_left_out", a.is.pages_left_out + (a.pages.size() - written));
}

void write_allocations(base::json& out, const std::vector<account>& nodes) {
  std::set<std::uint64_t> used;
  for (const auto& a : nodes)
    for (const auto& p : a.pages) used.insert(p.number);
  const auto limit = out.size() + most_list_text;
  out.line().open("allocations", '[');
  for (node_id n = 0; n < nodes.size(); ++n)
    for (const auto& b : nodes[n].allocated) {
      const auto first = used.lower_bound(b.offset / dsm::page_bytes);
      if (first == used.end() || *first * dsm::page_bytes >= b.offset + b.bytes || out.size() > limit) continue;
      out.line().open(nullptr, '{').number("offset", b.offset).number("bytes", b.bytes).number("blocks", b.count).number("node", n);
      out.open("calls", '[');
      if (b.site < nodes[n].sites.size())
        for (const auto& call : nodes[n].sites[b.site]) out.text(nullptr, call);
      out.close().close();
    }
  out.close();
}

void write_node(base::json& out, const identity& who, node_id number, const account& a, bool for_report) {
  out.line().open(nullptr, '{');
  out.number("node", number).number("host", who.host_of[number]).number("threads", a.is.threads).seconds("wall", a.is.wall);
  write_times(out, a.is.spent);
  out.seconds("communication_thread", a.is.served);
  write_watching(out, a.is.watching);
  write_counts(out, a.is);
  write_port(out, a.is.port);
  out.line().open("traffic", '[');
  for (const auto& with : a.traffic)
    out.open(nullptr, '{')
        .number("node", with.node)
        .number("fetched_bytes", with.fetched)
        .number("diff_bytes", with.changed)
        .close();
  out.close();
  if (for_report) {
    write_epochs(out, a.epochs);
    write_locks(out, a.locks);
    write_pages(out, a, most_list_text / who.nodes);
  }
  out.close();
}

// What this process was started as.
std::string command_line() {
  std::ifstream file("/proc/self/cmdline");
  std::string all(std::istreambuf_iterator<char>(file), {});
  while (!all.empty() && all.back() == '\0') all.pop_back();
  std::replace(all.begin(), all.end(), '\0', ' ');
  constexpr std::size_t longest = 1000;
  return all.substr(0, longest);
}

}  // namespace

std::string statistics_document(const identity& who, const char* way, const char* fabric, const observed& shared,
                                const std::vector<account>& nodes, bool for_report) {
  base::json out;
  base::nanoseconds wall = 0;
  observed::watching watching;
  std::array<base::nanoseconds, observe::phases> spent{};
  for (const auto& a : nodes) {
    wall = std::max(wall, a.is.wall);
    watching.phases += a.is.watching.phases;
    watching.pages += a.is.watching.pages;
    for (std::size_t p = 0; p < observe::phases; ++p) spent[p] += a.is.spent[p];
  }
  out.open(nullptr, '{').line().text("weft", version).text("started_by", way).number("nodes", who.nodes).number("hosts", who.hosts);
  out.text("fabric", fabric).text("protocol", shared.protocol()).text("engine", shared.engine());
  out.line().text("command", command_line());
  out.line().open("all", '{').seconds("wall", wall);
  write_times(out, spent);
  write_watching(out, watching);
  out.close();
  out.line().open("per_node", '[');
  for (node_id n = 0; n < nodes.size(); ++n) write_node(out, who, n, nodes[n], for_report);
  out.close();
  if (for_report) write_allocations(out, nodes);
  out.close();
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
