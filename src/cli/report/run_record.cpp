#include "cli/report/run_record.h"

#include <algorithm>
#include <fstream>

#include <nlohmann/json.hpp>

namespace weft::cli::report {
namespace {

using nlohmann::json;

times times_of(const json& object) {
  times all{};
  for (std::size_t i = 0; i < time_parts.size(); ++i) all[i] = object.at(time_parts[i]).get<double>();
  return all;
}

byte_set bytes_of(const json& page, const char* key) {
  byte_set all;
  for (const auto& range : page.value(key, json::array()))
    for (auto b = range.at(0).get<std::size_t>(); b <= std::min(range.at(1).get<std::size_t>(), page_bytes - 1); ++b) all.set(b);
  return all;
}

page_use page_of(const json& p, std::uint32_t node) {
  const auto count = [&](const char* key) { return p.value(key, std::uint64_t{0}); };
  return {p.at("page").get<std::uint64_t>(),
          node,
          p.value("home", false),
          count("read_faults"),
          count("write_faults"),
          count("fetches"),
          count("writes"),
          count("diff_bytes"),
          bytes_of(p, "written"),
          bytes_of(p, "by_others")};
}

node_record node_of(const json& n, std::uint32_t number, std::size_t nodes) {
  node_record r;
  r.wall = n.at("wall").get<double>();
  r.spent = times_of(n.at("time"));
  r.communication_thread = n.at("communication_thread").get<double>();
  for (const auto& [name, value] : n.at("counts").items()) r.counts.emplace_back(name, value.get<double>());
  r.fetched.resize(nodes);
  r.changed.resize(nodes);
  for (const auto& t : n.at("traffic")) {
    const auto with = t.at("node").get<std::size_t>();
    r.fetched.at(with) = t.at("fetched_bytes").get<double>();
    r.changed.at(with) = t.at("diff_bytes").get<double>();
  }
  if (n.contains("epochs"))
    for (const auto& e : n.at("epochs").at("time")) r.epochs.push_back(e.get<times>());
  for (const auto& l : n.value("locks", json::array()))
    r.locks.push_back({l.at("name").get<std::string>(), l.at("place").get<std::string>(), l.at("waits").get<double>(),
                       l.at("waited").get<double>()});
  for (const auto& p : n.value("pages", json::array())) r.pages.push_back(page_of(p, number));
  r.pages_left_out = n.value("pages_left_out", 0.0);
  return r;
}

allocation allocation_of(const json& a) {
  return {a.at("offset").get<std::uint64_t>(),           a.at("bytes").get<std::uint64_t>(),
          a.at("blocks").get<std::uint64_t>(),           a.at("node").get<std::uint32_t>(),
          a.at("calls").get<std::vector<std::string>>(), {}};
}

run_record record_of(const json& d) {
  run_record r;
  r.command = d.value("command", "");
  r.fabric = d.at("fabric").get<std::string>();
  r.protocol = d.at("protocol").get<std::string>();
  r.engine = d.at("engine").get<std::string>();
  r.wall = d.at("all").at("wall").get<double>();
  r.spent = times_of(d.at("all").at("time"));
  for (const auto& [part, seconds] : d.at("all").at("watching").items()) r.watching += seconds.get<double>();
  const auto& nodes = d.at("per_node");
  for (const auto& n : nodes) r.nodes.push_back(node_of(n, static_cast<std::uint32_t>(r.nodes.size()), nodes.size()));
  if (r.nodes.empty()) throw error(errc::invalid_argument, "it has no nodes");
  if (nodes.at(0).contains("epochs")) r.barriers_each = nodes.at(0).at("epochs").at("barriers_each").get<double>();
  for (const auto& a : d.value("allocations", json::array())) r.allocations.push_back(allocation_of(a));
  return r;
}

}  // namespace

result<run_record> read_run(const std::string& file) {
  std::ifstream in(file);
  if (!in) return {errc::invalid_argument, file + " cannot be read; name a file that 'weft run --stats=FILE' has written"};
  const auto document = json::parse(in, nullptr, false);
  if (document.is_discarded())
    return {errc::invalid_argument, file + " is not JSON; name a file that 'weft run --stats=FILE' has written"};
  try {
    auto r = record_of(document);
    r.file = file;
    return r;
  } catch (const std::exception& e) {
    return {errc::invalid_argument, file + " is not what 'weft run --stats=FILE' writes: " + e.what()};
  }
}

}  // namespace weft::cli::report
