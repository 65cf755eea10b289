// Prints the events of a trace by their time, one a line: "node thread begin end name arguments". Fails if the file is no trace, or if two
// events of a thread overlap without one being inside the other.
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <vector>

namespace {

struct event {
  int node, thread;
  double begin, end;
  std::string name, arguments;
};

bool nested(const std::vector<event>& in_order) {
  std::map<std::pair<int, int>, std::vector<double>> open;  // ends, by thread
  for (const auto& e : in_order) {
    auto& ends = open[{e.node, e.thread}];
    while (!ends.empty() && ends.back() <= e.begin) ends.pop_back();
    constexpr double rounding = 0.002;
    if (!ends.empty() && e.end > ends.back() + rounding)
      return std::fprintf(stderr, "%s at %.3f overlaps\n", e.name.c_str(), e.begin), false;
    ends.push_back(e.end);
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  std::ifstream file(argv[1]);
  const auto document = nlohmann::json::parse(file);
  std::vector<event> all;
  for (const auto& e : document.at("traceEvents")) {
    if (e.at("ph") != "X") continue;
    all.push_back({e.at("pid"), e.at("tid"), e.at("ts"), e.at("ts").get<double>() + e.at("dur").get<double>(), e.at("name"),
                   e.at("args").dump()});
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const event& a, const event& b) { return a.begin != b.begin ? a.begin < b.begin : a.end > b.end; });
  for (const auto& e : all)
    std::printf("%d %d %.3f %.3f %s %s\n", e.node, e.thread, e.begin, e.end, e.name.c_str(), e.arguments.c_str());
  return nested(all) ? 0 : 1;
}
