#include "litmus/shapes.h"

namespace litmus {

namespace {

constexpr std::uint32_t x = 0, y = 1, z = 2;

op w(std::uint32_t variable, std::uint32_t value) {
  return {true, variable, value};
}
op r(std::uint32_t variable) {
  return {false, variable, 0};
}

}  // namespace

const std::vector<shape>& shapes() {
  static const std::vector<shape> all = {
      {"MP", 2, false, {{w(x, 1), w(y, 1)}, {r(y), r(x)}}},
      {"SB", 2, false, {{w(x, 1), r(y)}, {w(y, 1), r(x)}}},
      {"LB", 2, false, {{r(x), w(y, 1)}, {r(y), w(x, 1)}}},
      {"S", 2, false, {{w(x, 2), w(y, 1)}, {r(y), w(x, 1)}}},
      {"R", 2, false, {{w(x, 1), w(y, 1)}, {w(y, 2), r(x)}}},
      {"2+2W", 2, false, {{w(x, 1), w(y, 2)}, {w(y, 1), w(x, 2)}}},
      {"WRC", 2, false, {{w(x, 1)}, {r(x), w(y, 1)}, {r(y), r(x)}}},
      {"RWC", 2, false, {{w(x, 1)}, {r(x), r(y)}, {w(y, 1), r(x)}}},
      {"ISA2", 3, false, {{w(x, 1), w(y, 1)}, {r(y), w(z, 1)}, {r(z), r(x)}}},
      {"IRIW", 2, false, {{w(x, 1)}, {w(y, 1)}, {r(x), r(y)}, {r(y), r(x)}}},
      {"CoRR", 1, false, {{w(x, 1)}, {r(x), r(x)}}},
      {"CoWW", 1, false, {{w(x, 1), w(x, 2)}, {r(x)}}},
      {"LRC-chain", 1, false, {{w(x, 1)}, {w(x, 2)}, {w(x, 3)}, {r(x)}}},
      {"adjacent bytes", 4, true, {{w(0, 1), w(2, 1)}, {w(1, 1), w(3, 1)}, {r(0), r(1)}}},
  };
  return all;
}

const char* to_string(synchronisation s) {
  constexpr const char* names[] = {"one lock", "a lock a variable", "barriers", "flags"};
  return names[static_cast<std::size_t>(s)];
}

const char* to_string(place p) {
  constexpr const char* names[] = {"one word", "one page", "pages of one home", "pages of different homes"};
  return names[static_cast<std::size_t>(p)];
}

std::uint32_t offset_of(const shape& s, place p, std::uint32_t variable) {
  if (s.bytes) {
    constexpr std::uint32_t first[] = {0, 1022, 4094, 4094};  // the last two over a page's end
    return first[static_cast<std::size_t>(p)] + variable;
  }
  constexpr std::uint32_t apart[] = {4, 1024, 4096, 4096};
  return apart[static_cast<std::size_t>(p)] * variable;
}

std::string to_string(const outcome& o) {
  std::string text;
  for (const auto v : o) text += (text.empty() ? "" : " ") + std::to_string(v);
  return text;
}

namespace {

void extend(const shape& s, std::vector<std::size_t>& done, interleaving& so_far, std::vector<interleaving>& all) {
  bool complete = true;
  for (std::uint32_t t = 0; t < s.threads.size(); ++t) {
    if (done[t] == s.threads[t].size()) continue;
    complete = false;
    ++done[t];
    so_far.push_back(t);
    extend(s, done, so_far, all);
    so_far.pop_back();
    --done[t];
  }
  if (complete) all.push_back(so_far);
}

}  // namespace

std::vector<interleaving> interleavings(const shape& s) {
  std::vector<interleaving> all;
  std::vector<std::size_t> done(s.threads.size());
  interleaving so_far;
  extend(s, done, so_far, all);
  return all;
}

outcome outcome_of(const shape& s, const interleaving& order) {
  std::vector<std::uint32_t> memory(s.variables);
  std::vector<std::size_t> next(s.threads.size());
  std::vector<std::vector<std::uint32_t>> registers(s.threads.size());
  for (const auto t : order) {
    const op& o = s.threads[t][next[t]++];
    if (o.write)
      memory[o.variable] = o.value;
    else
      registers[t].push_back(memory[o.variable]);
  }
  outcome all;
  for (const auto& of : registers) all.insert(all.end(), of.begin(), of.end());
  all.insert(all.end(), memory.begin(), memory.end());
  return all;
}

std::set<outcome> allowed(const shape& s) {
  std::set<outcome> all;
  for (const auto& order : interleavings(s)) all.insert(outcome_of(s, order));
  return all;
}

}  // namespace litmus
