#include "dst/coherence/program.h"

#include <algorithm>

#include "base/text.h"

namespace dst {

using weft::base::format;

program program::only(std::vector<bool> kept) const {
  for (std::uint32_t u = 0; u < units(); ++u) {  // what is needed comes first, so one pass is enough
    if (barriers[u]) kept[u] = true;
    for (const auto n : needs[u])
      if (!kept[n]) kept[u] = false;
  }
  program p = *this;
  for (auto& thread : p.steps) std::erase_if(thread, [&](const step& s) { return !kept[s.unit]; });
  std::uint32_t last = 0;
  for (const auto& thread : p.steps)
    for (const auto& s : thread)
      if (s.kind != step_kind::barrier) last = std::max(last, s.unit);
  for (auto& thread : p.steps) std::erase_if(thread, [&](const step& s) { return s.unit > last; });
  // Threads other than a node's first go when they have nothing to do but barriers.
  const auto idle = [&](std::size_t t) {
    return std::all_of(p.steps[t].begin(), p.steps[t].end(), [](const step& s) { return s.kind == step_kind::barrier; });
  };
  for (std::size_t t = p.threads.size(); t-- > 0;) {
    const bool first = std::find(p.threads.begin(), p.threads.begin() + static_cast<std::ptrdiff_t>(t), p.threads[t]) ==
                       p.threads.begin() + static_cast<std::ptrdiff_t>(t);
    if (!idle(t) || first) continue;
    p.threads.erase(p.threads.begin() + static_cast<std::ptrdiff_t>(t));
    p.steps.erase(p.steps.begin() + static_cast<std::ptrdiff_t>(t));
    p.loose.erase(p.loose.begin() + static_cast<std::ptrdiff_t>(t));
  }
  return p;
}

std::string to_string(const step& s) {
  constexpr const char* names[] = {"touch", "lock",   "shared",  "set",      "await",     "add",    "await count",
                                   "group", "signal", "receive", "allocate", "give back", "barrier"};
  std::string text = format("[%u] %s", s.unit, names[static_cast<std::size_t>(s.kind)]);
  if (s.way == lock_way::trying) text += " by trying";
  if (s.way == lock_way::timed) text += " within a time";
  if (s.way == lock_way::once) text += " if it is to be had";
  if (s.object != unset) text += format(" %u", s.object);
  if (s.second != unset) text += format(" and %u", s.second);
  if (s.value != 0) text += format(" (%llu)", static_cast<unsigned long long>(s.value));
  for (const auto& a : s.accesses) text += format(" %s%u", a.write ? "w" : "r", a.cell);
  return text;
}

std::string program::text() const {
  constexpr const char* rules[] = {"first touch", "cyclic", "block", "on node"};
  std::string text;
  std::vector<bool> used(cells.size());
  for (const auto& thread : steps)
    for (const auto& s : thread)
      for (const auto& a : s.accesses) used[a.cell] = true;
  for (std::size_t a = 0; a < arrays.size(); ++a) {
    text += format("  array %zu, %u bytes, %s", a, arrays[a].bytes, rules[static_cast<std::size_t>(arrays[a].where.by)]);
    if (arrays[a].where.by == weft::placement::rule::on_node) text += format(" %u", arrays[a].where.node);
    for (std::size_t c = 0; c < cells.size(); ++c)
      if (cells[c].array == a && used[c]) text += format("; cell %zu: %u+%u", c, cells[c].offset, cells[c].size);
    text += "\n";
  }
  for (std::size_t t = 0; t < threads.size(); ++t) {
    text += format("  thread %zu on node %u%s:\n", t, threads[t], loose[t] ? ", loose" : "");
    for (const auto& s : steps[t]) text += "    " + to_string(s) + "\n";
  }
  return text;
}

}  // namespace dst
