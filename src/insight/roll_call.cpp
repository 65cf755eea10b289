#include "insight/roll_call.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "os/symbols.h"
#include "space/region.h"
#include "join/words.h"

namespace weft::runtime {

namespace {

using control::presence;
using control::thread_state;

bool waits(const thread_state& t, wait_kind kind) {
  return t.waits_for == static_cast<std::uint8_t>(kind);
}

std::string seconds(std::int64_t nanoseconds) {
  return base::format("%.1f s", static_cast<double>(nanoseconds) / static_cast<double>(base::second));
}

std::string at(const std::string& where) {
  return where.empty() ? "" : " at " + where;
}

// What a thread waits for, as the end of "node 1 thread 0 waits 3.0 s for".
std::string object_of(const thread_state& t) {
  constexpr const char* kinds[wait_kinds] = {"nothing",
                                             "mutex",
                                             "shared mutex",
                                             "condition variable",
                                             "flag or counter",
                                             "barrier",
                                             "group barrier",
                                             "the other threads of its team",
                                             "page",
                                             "the other nodes, at the end of the job or in an exchange"};
  std::string text = t.waits_for < wait_kinds ? kinds[t.waits_for] : "something";
  if (!t.name.empty()) text += " " + t.name;
  if (waits(t, wait_kind::value) && t.detail != 0)
    text += base::format(" to reach %llu", static_cast<unsigned long long>(t.detail));
  if (waits(t, wait_kind::group_barrier)) text += base::format(" of %llu threads", static_cast<unsigned long long>(t.detail));
  return text;
}

std::string holder_of(const thread_state& t, std::span<const roll_answer> nodes) {
  if (!waits(t, wait_kind::mutex) && !waits(t, wait_kind::shared_mutex)) return {};
  if (t.holder != 0) return base::format(" (held by node %u)", t.holder - 1);
  for (const auto& node : nodes)
    if (node.here && std::count(node.here->held.begin(), node.here->held.end(), t.object) != 0)
      return base::format(" (held by node %u)", node.node);
  return {};
}

// What keeps a node from a barrier, as the rest of a sentence.
std::string instead_of_coming(const roll_answer& node) {
  if (!node.here) return "it " + node.instead;
  if (node.here->threads.empty()) return "it is starting or ending";
  for (const auto& t : node.here->threads)  // who waits for the team waits for one of the others
    if (!waits(t, wait_kind::nothing) && !waits(t, wait_kind::team)) return "it waits for " + object_of(t);
  return "it computes";
}

void tell_barriers(std::span<const roll_answer> nodes, std::vector<std::string>& lines) {
  struct meeting {
    std::vector<std::uint32_t> there;
    std::string where;
    std::int64_t waited = 0;
  };
  std::map<std::uint64_t, meeting> meetings;  // by the barrier's number
  for (const auto& node : nodes)
    if (node.here)
      for (const auto& t : node.here->threads) {
        if (!waits(t, wait_kind::barrier)) continue;
        auto& m = meetings[t.detail];
        m.there.push_back(node.node);
        m.waited = std::max(m.waited, t.waited);
        if (m.where.empty()) m.where = t.where;
      }
  for (const auto& [number, m] : meetings) {
    std::vector<std::uint32_t> missing;
    std::string why;
    for (const auto& node : nodes) {
      if (node.here && node.here->barriers >= number) continue;
      missing.push_back(node.node);
      why = instead_of_coming(node);
    }
    const bool one = m.there.size() == 1;
    std::string line = name_nodes(m.there) + (one ? " has" : " have") + " reached barrier " + std::to_string(number) + at(m.where) +
                       (one ? " and waits " : " and wait ") + seconds(m.waited);
    if (missing.size() == 1) line += "; " + name_nodes(missing) + " has not: " + why;
    if (missing.size() > 1) line += "; " + name_nodes(missing) + " have not";
    lines.push_back(std::move(line));
  }
}

}  // namespace

// Anything else than those is known to this node only.
std::string name_of(const wait_record& w) {
  if (!w.address) return {};
  const auto* at = static_cast<const std::byte*>(w.address);
  const auto name = at >= region_base && at < region_base + region_bytes ? std::string() : os::name_of_variable(w.address);
  return name.empty() ? base::format("%p", w.address) : name;
}

presence present(const observe::activity& a, observed* shared) {
  presence p;
  p.progress = a.progress();
  if (shared) {
    p.barriers = shared->barriers();
    p.held = shared->held();
  }
  const auto now = a.now();
  for (const auto& [number, w] : a.threads()) {
    const auto holder = shared ? shared->holder(w) : std::nullopt;
    p.threads.push_back({number, static_cast<std::uint8_t>(w.what), w.object, w.detail, now - w.since, holder ? *holder + 1 : 0,
                         name_of(w), os::name_of_code(w.caller)});
  }
  return p;
}

std::vector<std::string> tell_roll(std::span<const roll_answer> nodes) {
  std::vector<std::string> lines;
  tell_barriers(nodes, lines);
  for (const auto& node : nodes) {
    const auto name = base::format("node %u ", node.node);
    if (!node.here) {
      lines.push_back(name + node.instead);
      continue;
    }
    if (node.here->threads.empty()) lines.push_back(name + "is starting or ending");
    for (const auto& t : node.here->threads) {
      if (waits(t, wait_kind::barrier)) continue;
      const auto who = name + base::format("thread %u ", t.number);
      lines.push_back(waits(t, wait_kind::nothing)
                          ? who + "computes"
                          : who + "waits " + seconds(t.waited) + " for " + object_of(t) + holder_of(t, nodes) + at(t.where));
    }
  }
  return lines;
}

}  // namespace weft::runtime
