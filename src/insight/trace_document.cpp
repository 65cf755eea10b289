#include "insight/trace_document.h"

#include <algorithm>
#include <cstring>

#include <weft/detail/wait_record.h>

#include "base/text.h"
#include "dsm/own_handlers.h"

namespace weft::runtime {

namespace {

using base::format;
using observe::trace;
using observe::trace_kind;

constexpr std::size_t written_at_once = 1 << 20;

struct told {
  clock_difference clock;
  std::vector<trace::thread> threads;
};

told read(base::byte_view from) {
  told t;
  base::reader in(from);
  t.clock = in.take<clock_difference>();
  for (auto left = in.take<std::uint32_t>(); left > 0 && in.ok(); --left) {
    auto& one = t.threads.emplace_back();
    one.slot = in.take<std::uint32_t>();
    one.number = in.take<std::int64_t>();
    one.lost = in.take<std::uint64_t>();
    const auto bytes = in.take_block();
    one.events.resize(bytes.size() / sizeof(trace::event));
    if (!one.events.empty()) std::memcpy(one.events.data(), bytes.data(), bytes.size());
  }
  return t;
}

// What the protocol's pages call a message.
std::string handler_name(std::uint64_t id) {
  switch (id) {
    case dsm::page_request: return "page_request";
    case dsm::page_reply: return "page_reply";
    case dsm::lock_request: return "lock_request";
    case dsm::lock_forward: return "lock_forward";
    case dsm::lock_grant: return "lock_grant";
    case dsm::barrier_arrival: return "barrier_arrival";
    case dsm::barrier_departure: return "barrier_departure";
    case dsm::diff_request: return "diff_request";
    case dsm::diff_reply: return "diff_reply";
    case dsm::collection: return "collection";
    case dsm::home_changes: return "home_changes";
    case dsm::home_changes_reply: return "home_changes_reply";
    case dsm::copy_update: return "copy_update";
    case dsm::copy_flush: return "copy_flush";
    case dsm::copy_flush_reply: return "copy_flush_reply";
    case dsm::home_request: return "home_request";
    case dsm::home_reply: return "home_reply";
    default: return format("message %llu", static_cast<unsigned long long>(id));
  }
}

const char* wait_name(std::uint32_t kind) {
  constexpr const char* names[wait_kinds] = {"nothing", "lock",          "shared lock", "condition", "flag or counter",
                                             "barrier", "group barrier", "team",        "page",      "meeting"};
  return kind < wait_kinds ? names[kind] : "wait";
}

std::string name_of(const trace::event& e) {
  switch (e.kind) {
    case trace_kind::read_fault: return "read fault";
    case trace_kind::write_fault: return "write fault";
    case trace_kind::fetch: return "fetch";
    case trace_kind::release: return "release";
    case trace_kind::acquire: return "acquire";
    case trace_kind::wait: return wait_name(e.amount);
    case trace_kind::unlock: return "unlock";
    case trace_kind::put: return "put";
    case trace_kind::get: return "get";
    case trace_kind::atomic: return "atomic";
    case trace_kind::enqueue: return "enqueue";
    case trace_kind::fence: return "fence";
    case trace_kind::send: return "send " + handler_name(e.what);
    case trace_kind::handle: return "handle " + handler_name(e.what);
  }
  return "event";
}

const char* category(trace_kind k) {
  if (k <= trace_kind::fetch) return "fault";
  if (k <= trace_kind::acquire) return "protocol";
  return k <= trace_kind::unlock ? "synchronisation" : "message";
}

std::string arguments(const trace::event& e) {
  const auto what = static_cast<unsigned long long>(e.what);
  switch (e.kind) {
    case trace_kind::read_fault:
    case trace_kind::write_fault: return format("\"page\":%llu", what);
    case trace_kind::fetch:
      if (e.node == trace::nowhere) return format("\"page\":%llu", what);  // lrc: from whoever wrote it
      return format("\"page\":%llu,\"bytes\":%u,\"from\":%u", what, e.amount, e.node);
    case trace_kind::release:
    case trace_kind::acquire: return "";
    case trace_kind::wait:
      return format(e.amount == static_cast<std::uint32_t>(wait_kind::barrier) ? "\"number\":%llu" : "\"object\":\"%llx\"", what);
    case trace_kind::unlock: return format("\"object\":\"%llx\"", what);
    case trace_kind::enqueue: return format("\"to\":%u,\"words\":%u", e.node, e.amount);
    case trace_kind::get:
    case trace_kind::handle: return format("\"from\":%u,\"bytes\":%u", e.node, e.amount);
    case trace_kind::fence: return format("\"to\":%u", e.node);
    default:
      return e.node == trace::nowhere ? format("\"bytes\":%u", e.amount) : format("\"to\":%u,\"bytes\":%u", e.node, e.amount);
  }
}

std::string line_of(std::size_t node, std::uint32_t slot, const trace::event& e, base::nanoseconds begin, base::nanoseconds end) {
  return format("{\"name\":\"%s\",\"cat\":\"%s\",\"ph\":\"X\",\"pid\":%zu,\"tid\":%u,\"ts\":%.3f,\"dur\":%.3f,\"args\":{%s}}",
                name_of(e).c_str(), category(e.kind), node, slot, static_cast<double>(begin) / 1e3,
                static_cast<double>(end - begin) / 1e3, arguments(e).c_str());
}

std::string heading(const char* what, std::size_t node, std::uint32_t slot, const std::string& name) {
  return format("{\"name\":\"%s\",\"ph\":\"M\",\"pid\":%zu,\"tid\":%u,\"args\":{\"name\":\"%s\"}}", what, node, slot, name.c_str());
}

}  // namespace

base::byte_buffer encode_trace(const std::vector<trace::thread>& threads, const clock_difference& clock, std::size_t room) {
  base::writer out;
  out.put(clock).put(static_cast<std::uint32_t>(threads.size()));
  constexpr std::size_t heads = 64;  // more than what goes before a thread's events
  const std::size_t each = threads.empty() ? 0 : (room > heads ? room - heads : 0) / threads.size();
  const std::size_t most = each > heads ? (each - heads) / sizeof(trace::event) : 0;
  for (const auto& t : threads) {
    const std::size_t first = t.events.size() > most ? t.events.size() - most : 0;
    out.put(t.slot).put(t.number).put(t.lost + first).put_block(std::as_bytes(std::span(t.events).subspan(first)));
  }
  return out.take();
}

void write_trace(const std::vector<base::byte_buffer>& nodes, const std::function<void(const std::string&)>& piece) {
  std::vector<told> all;
  base::nanoseconds start = INT64_MAX;
  for (const auto& n : nodes) {
    all.push_back(read(n));
    for (const auto& t : all.back().threads)
      for (const auto& e : t.events) start = std::min(start, all.back().clock.corrected(e.begin));
  }
  std::string text = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
  bool first = true;
  const auto add = [&](const std::string& line) {
    text += (first ? "" : ",\n") + line;
    first = false;
    if (text.size() < written_at_once) return;
    piece(text);
    text.clear();
  };
  for (std::size_t n = 0; n < all.size(); ++n) {
    add(heading("process_name", n, 0, format("node %zu", n)));
    for (const auto& t : all[n].threads) {
      const auto lost = t.lost == 0 ? "" : format(" (%llu earlier events were not kept)", static_cast<unsigned long long>(t.lost));
      add(heading("thread_name", n, t.slot,
                  (t.number < 0 ? "communication thread" : format("thread %lld", static_cast<long long>(t.number))) + lost));
      const auto time_of = [&](base::nanoseconds at) { return all[n].clock.corrected(at) - start; };
      for (const auto& e : t.events) add(line_of(n, t.slot, e, time_of(e.begin), time_of(e.begin + e.lasted)));
    }
  }
  piece(text + "\n]}\n");
}

}  // namespace weft::runtime
